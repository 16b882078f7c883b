"""The learners: how schedules of one problem are ranked, and what the policies learn from it.

In reading order:

- ``records``: an experience, reports of a step
- ``rank_reward``: value-weighted softmax rank rewards of sibling trajectories; rank correlation
- ``group_gradients``: the gradient of one rank group
- ``experiences``: one experience per trajectory
- ``replay``: a buffer sampled by priority
- ``packing``: experiences as plain arrays, for checkpoints and for other machines
- ``problem_replay``: the replay of problems, to be searched anew
- ``adam``: the optimiser on a plain vector
- ``policy_learner``: the fast policy's learner, from rank groups
- ``experience_replay``: the replay of experiences
- ``batches``: all states of sampled experiences as the network's inputs and targets
- ``losses``: the training loss
- ``adam_state``: the moments of an optimiser, for checkpoints
- ``network_learner``: the network's learner: optimiser and replay, one gradient step at a time
"""
