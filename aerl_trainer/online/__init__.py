"""A learned dispatcher for runs that go on by events.

In reading order:

- ``features``, ``weights``: what it sees, and the network's weights as one vector;
- ``context``: what the kernels know of a problem, their scratch space;
- ``view``, ``network``, ``choices``: features, logits and gradients, one pass over the ready tasks;
- ``rollout``: whole runs, with gradients;
- ``dispatcher``: ``LearnedOrder``;
- ``files``, ``shipped``: weights on disk, and those that come with the package;
- ``mixture``: the runs that are trained on;
- ``learner``, ``validation``, ``training``: ``train_online``.
"""
