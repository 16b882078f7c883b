"""The deep network in torch, and the inference workers that evaluate states with it.

In reading order:

- ``row_kernels``: kernels for long chains of row-wise operations, forward and backward
- ``by_torch``: the same written with torch
- ``rows``: chooses between the two; what the network does with every edge, pair and candidate
- ``network``: a static encoder, run once per instance, and a light decoder of states
- ``batching``: from numpy arrays to the network's tensors
- ``evaluator``: answers encoded states with a network in this process
- ``inference``: who evaluates the states of the actors, with the inference worker
"""
