"""The Gymnasium environments ``DAGSched-v0`` and ``DAGSchedOnline-v0``, one of them or thousands.

In reading order:

- ``rewards``: what a step is worth
- ``actions``: what an action means, and which are legal
- ``features``: what an agent sees of a state
- ``observation``: the observations ``graph`` and ``flat``
- ``env``: ``DAGSchedEnv``
- ``vector``: many environments at once, natively
- ``online``: ``DAGSchedOnline-v0``: decides while a run goes on
- ``window``: ``render_mode="human"``, and the entry point of ``gymnasium.make``
- ``sb3``: vector environments for Stable-Baselines3
- ``pyg``: observations for graph networks
"""
