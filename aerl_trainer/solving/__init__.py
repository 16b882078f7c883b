"""One short schedule, by all that was learned and searched; what was learned, from disk.

In reading order:

- ``learned``: what a run has learned
- ``trained``: the same, read from the checkpoints of a run
- ``loading``: ``load_policy``: the door to what was learned, on disk
- ``schedulers``: a policy as schedulers of ``dagsched``
- ``joint_search``: one search by this process together with others
- ``solver``: ``solve``
- ``solutions``: what ``aerl solve`` shows
- ``spread``: one function of many things on all cores of a cluster
- ``batch``: many files
- ``evaluation``: the tables at the end of a run, and of ``aerl evaluate``
"""
