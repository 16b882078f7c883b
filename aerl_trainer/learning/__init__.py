"""From finished trees to a better network.

In reading order:

- ``ranking``: value-weighted softmax rank rewards of sibling trajectories; rank correlation
- ``group_gradients``: the gradient of one rank group
- ``policy_gradient``: the fast policy learns from rank groups of its own schedules
- ``experiences``: one experience per trajectory
- ``packing``: experiences as plain arrays, for checkpoints and for other machines
- ``replay``: the replay buffer of experiences
- ``batches``: all states of sampled experiences as the network's inputs and targets
- ``losses``: the training loss
- ``adam_state``: the moments of an optimiser, for checkpoints
- ``learner``: network, optimiser and replay, one gradient step at a time
"""
