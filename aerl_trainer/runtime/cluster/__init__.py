"""Several machines, on Ray. A run on one machine imports nothing of it.

In reading order:

- ``fleet``: tasks over members that come and go, each of which ends once
- ``parcels``: jobs and harvests as arrays that travel between machines
- ``node_worker``: what a run does on one node
- ``cluster_jobs``: the pool of jobs that a cluster searches
- ``ray_nodes``: Ray as the transport; the only module that knows it
- ``ray_run``: the node workers of a run: the door of this folder
"""
