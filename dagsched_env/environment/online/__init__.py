"""``DAGSchedOnline-v0``: decides while a run goes on; one of it or thousands.

In reading order:

- ``features``: what an agent sees of a run
- ``episodes``: runs that are stepped together, with their observations
- ``env``: ``DAGSchedOnlineEnv``
- ``vector``: ``DAGSchedOnlineVectorEnv``
"""
