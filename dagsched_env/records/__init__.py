"""The archive: the best known schedule of each instance of a set, as files that anyone can check.

A set is a file ``docs/records/NAME.json`` of the repository, with an entry a line. An entry has the
schedule itself, as an order and a processor of each task, from which it is decoded exactly. So a
makespan is never a claim: ``verify_folder``, or ``dagsched records verify``, makes every instance
anew, decodes its schedule and has it checked by ``Schedule.validate``. A lower bound is a claim of
the solver that is named; no schedule on record may be below it.

In reading order:

- ``coding``: schedules as order and processors, and back;
- ``entry``: an entry, how it is made, and which of two is kept;
- ``record_set``: the file of a set, read strictly and written;
- ``instances``: the instances of a set, from the suites or from files;
- ``verifying``: checks every entry of a folder.
"""

from dagsched_env.records.coding import decode, order_of
from dagsched_env.records.entry import Entry, better_of, is_shorter, make_entry, wrong_with
from dagsched_env.records.instances import InstanceFinder, home_of
from dagsched_env.records.record_set import (
    RecordSet,
    alone_in,
    read_folder,
    read_set,
    write_set,
)
from dagsched_env.records.verifying import Verdict, verify_folder

__all__ = [
    "Entry",
    "InstanceFinder",
    "RecordSet",
    "Verdict",
    "alone_in",
    "better_of",
    "decode",
    "home_of",
    "is_shorter",
    "make_entry",
    "order_of",
    "read_folder",
    "read_set",
    "verify_folder",
    "write_set",
    "wrong_with",
]
