"""The deep policy and value network, in torch.

In reading order:

- ``network``: a static encoder, run once per instance, and a light decoder of states
- ``batching``: from numpy arrays to the network's tensors
- ``evaluator``: answers encoded states with a network in this process
"""
