"""The travelling salesman problem for reinforcement learning; importing it registers ``TSP-v0``.

In reading order:

- ``points``: sets of points, their symmetries, lengths of tours
- ``tours``: partial tours of many sets of points at once
- ``env``: ``TSP-v0``, one problem or many at once
- ``text_format``: reader and writer of points with tours
- ``references``: tours by LKH; the committed test set
- ``held_karp``: optimal lengths by dynamic programming
- ``attention``: the attention model
- ``weights``: a trained policy in a file
- ``evaluation``: gaps to the optimum
- ``settings``, ``training``: a training run
- ``pictures``: tours, and the gap against time
"""

import gymnasium

if "TSP-v0" not in gymnasium.registry:
    gymnasium.register(
        "TSP-v0",
        entry_point="tsp.env:TSPEnv",
        vector_entry_point="tsp.env:TSPVectorEnv",
    )
