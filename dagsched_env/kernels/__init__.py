"""Numeric kernels: arrays in, arrays out, compiled by numba, no hidden state.

Every kernel also runs as plain Python under ``NUMBA_DISABLE_JIT=1``; the tests use both. In reading
order:

- ``interrupts``: Ctrl-C, at the start of a command line and within kernels;
- ``sources``: the files that the machine code of a kernel depends on;
- ``machine_code``: where machine code is kept, whoever else compiles at the same time;
- ``indexing``: the compiler pass by which indices do not count from the end;
- ``jit``: the decorators ``kernel``, ``borrowing`` and ``inlined`` that compile a function;
- ``arrays``: the groups of arrays that kernels pass around: an instance, a partial schedule;
- ``graph``: what follows from an instance alone: orders, ranks, tables, lower bounds;
- ``state``: a partial schedule, its transitions, features and masks;
- ``online``: a run while it goes on, its events, features and rules;
- ``lists``: whole list schedules in one call;
- ``schedules``: from an order and an assignment to a schedule; execution; crossover;
- ``moves``: moves in a complete schedule, judged by heads and tails.
"""
