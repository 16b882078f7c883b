"""The problem: instances, machines, schedules, and the rules that a partial schedule obeys.

In reading order:

- ``drawing``: who draws a schedule
- ``errors``: the exceptions; arguments of another kind
- ``kinds``: kinds of tasks, from their names
- ``parameters``: what families and platforms draw for each instance
- ``workflow``: a task graph without processors
- ``resources``: demands of tasks and capacities of processors, as whole numbers
- ``arguments``: the arguments of an instance, checked
- ``instance``: the problem: tasks, processors, costs, communication
- ``schedule``: a solution, with a check of its own that shares no code with the simulator
- ``platforms``: processors, which turn a workflow into an instance
- ``run``: what a tool has measured, which becomes a problem
- ``parts``: instances split for training, validation and test
- ``simulator``: ``State``, a partial schedule to step; environment and search both use it
- ``durations``: execution under noise
- ``bounds``: lower bounds on every schedule
- ``destructive``: sharper ones, by horizons that are refuted
- ``critical``: the tasks that decide a makespan
- ``lanes``: tasks that overlap on a processor, beside each other, and what they use
"""
