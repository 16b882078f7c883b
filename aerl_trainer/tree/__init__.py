"""The shared tree search (Monte-Carlo tree search with WU-UCT), without torch.

In reading order:

- ``records``: a search job, its report, trajectories
- ``problem``: what a search knows of its problem: the encoding, bounds, noise of rollouts
- ``tree``: the tree as a struct of arrays
- ``selection``: which edge of a node a simulation follows
- ``leaves``: a mini-batch of leaves between selection and backup
- ``preparation``: a mini-batch before it is evaluated: states, bounds, rollouts
- ``answers``: from an evaluator's answers to priors and values
- ``simulation``: select, expand, back up
- ``shared_tree``: the tree with its lock, the one way to write to it, and its incumbent
- ``prefix``: fixing the first placements of the best schedule, so that deep trees are searched
- ``worker``: one actor's share of a search: gather, evaluate, back up
- ``summary``: the result of a search
- ``variation``: the principal variation, and other actions along it
- ``variation_worker``: one actor's share of such a search
- ``alone``: a whole search by one worker
- ``trajectories``: complete trajectories sampled from a finished tree
"""
