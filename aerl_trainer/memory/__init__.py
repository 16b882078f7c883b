"""Memory: arrays that processes share, and free memory that a process keeps or gives back.

In reading order:

- ``shared_memory``: arrays without a name, that spawned processes inherit; locks on them
- ``heap``: what the allocator does with freed memory
"""
