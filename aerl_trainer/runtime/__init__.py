"""Processes that search together: those of one machine, and, behind ``cluster``, those of several.

In reading order:

- ``errors``: of processes that cannot be kept alive
- ``children``: child processes with a pipe to the parent; the only file that starts any
- ``watch``: ends children that stand still
- ``actor``: the loop of one actor
- ``processes``: entry points of the child processes
- ``pool``: the interface of search pools, and the pool that searches in this process
- ``job_slots``: the trees, the jobs in them, and which actors work on them
- ``devices``: which devices the inference workers run on
- ``backend_choice``: measures whether inference workers or the actors themselves evaluate faster
- ``crew``: actors and inference workers as processes
- ``supervisor``: keeps crew and jobs in step when processes die
- ``process_pool``: the pool of trees that training uses
- ``harvest``: what is learned from finished trees; the interface between a run and who searches
- ``cluster``: several machines
"""
