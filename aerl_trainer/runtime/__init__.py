"""Processes that search together: those of one machine, and those of several.

In reading order:

- ``errors``: of processes that cannot be kept alive
- ``children``: child processes with a pipe to the parent; the only file that starts any
- ``watch``: ends children that stand still
- ``actor``: the loop of one actor
- ``processes``: entry points of the child processes
- ``pool``: the interface of search pools, and the pool that searches in this process
- ``job_slots``: the trees, the jobs in them, and which actors work on them
- ``crew``: actors and inference workers as processes
- ``supervisor``: keeps crew and jobs in step when processes die
- ``process_pool``: the pool of trees that training uses
- ``harvest``: what is learned from finished trees; the interface between a run and who searches
- ``fleet``: tasks over members that come and go, each of which ends once
- ``parcels``: jobs and harvests as arrays that travel between machines
- ``node_worker``: what a run does on one node
- ``cluster_jobs``: the pool of jobs that a cluster searches
- ``ray_nodes``: Ray as the transport
- ``ray_run``, ``spread``: the node workers of a run on it; one function of many things on all cores
- ``joint_search``: one search by this process together with others, for ``solve``
- ``warm_up``: compiles all kernels before other processes start
"""
