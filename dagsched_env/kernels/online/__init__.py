"""A run while it goes on: what happens, what comes next, and rules that say what starts.

In reading order:

- ``situation``: tasks start, end and fail, graphs arrive, machines are lost and come back;
- ``world``: what only the simulator knows, and the step to the next event;
- ``dispatch``: list scheduling from where a run stands;
- ``features``: what an agent sees of a run;
- ``episodes``: one step of many runs.
"""
