"""Whole list schedules in one call: arrays of the instance in, placements out.

In reading order:

- ``placements``: an empty schedule, and one task placed in it;
- ``fixed_order``: tasks in a given order, each on its best processor;
- ``orders``: orders beyond a decreasing rank: levels, ready lists, those of HCPT and PETS;
- ``lookahead``: a processor is chosen by what it means for the children of the task;
- ``selection``: task and processor are chosen together among the ready pairs;
- ``noisy``: many list schedules with noise on the ranks;
- ``iterated``: list schedules whose ranks and costs to go come from those before;
- ``clustering``: dominant sequence clustering;
- ``chains``: linear clustering: paths of tasks that should share a processor;
- ``mapping``: clusters onto eligible processors, and the ranks that an assignment gives.
"""
