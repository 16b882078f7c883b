"""What a policy sees, and the fast policy: a few hundred weights, inside kernels; no torch.

In reading order:

- ``encoding``: what a problem and a state look like to a policy
- ``weights``: the flat vector of weights, and what lies where
- ``workspace``: the work space of a rollout
- ``context``: what the features need of an instance
- ``scoring``: the pairs worth scoring, their features and logits
- ``choosing``: a choice among pairs by their logits
- ``rollout``: schedules drawn by the policy, with the gradient of their log-probability
- ``prior``: the policy as the prior of a tree search
- ``learnt``: a context that learns from the schedules made with it
- ``fast``: ``FastPolicy``, for everybody who is no kernel
- ``agent``: the policy as an agent of ``DAGSched-v0``
- ``files``: its weights in a file
- ``shipped``: the trained policies that come with the package
"""
