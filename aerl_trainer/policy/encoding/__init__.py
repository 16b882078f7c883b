"""What a problem and a state look like to a policy. Below ``tree`` and ``network``; no torch.

In reading order:

- ``context``: arrays, ranks and scales of an instance, computed once for each instance
- ``features``: the one table of all features
- ``static``: features of an instance before any task is placed
- ``candidates``: legal pairs with the hand-made prior, and which of them are kept
- ``dynamic``: features of a state and of its candidates
- ``states``: a batch of encoded states, and the kernel that fills it
- ``evaluator``: what answers a batch with logits and values
"""
