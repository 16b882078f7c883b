"""What follows from an instance alone, before anything is placed.

In reading order:

- ``csr``: compressed sparse rows, topological order, depths;
- ``release``: the first moments from which tasks may start, where there are release dates;
- ``communication``: the time that a transfer of data takes, and when a task may start;
- ``resources``: whether tasks share processors, which the compiler knows from types;
- ``eligibility``: the eligible processors of each task, by cost;
- ``ranks``: rank_u, rank_d, and the order that a rank gives;
- ``cost_tables``: costs to go: OCT (PEFT), CNCT and PCT (IPEFT), PCM (PPTS);
- ``bounds``: lower bounds on the makespan: CP_MIN, loads, heads and tails;
- ``windows``: when each task can run on each processor, if a schedule is to end by a horizon;
- ``companions``: pairs that bring too many other tasks to their processor;
- ``destructive``: whether a horizon is refuted.
"""
