"""A partial schedule: how it changes, and what an agent sees of it.

In reading order:

- ``timeline``: arrival of data, and the earliest slot on a processor;
- ``transitions``: reset, place, take back, copy, and the running lower bound on the makespan;
- ``completion``: the processor of the earliest finish; completion by (randomised) list scheduling;
- ``masks``: the legal (task, processor) pairs;
- ``features``: the features of an observation that change from step to step;
- ``batch``: one step of many environments in one call.
"""
