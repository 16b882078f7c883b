"""What a run tells its user. Nothing here changes what is computed.

In reading order:

- ``run_lock``: one process at a time has a run
- ``run_directory``: the files of a run, and how it was made
- ``events``: numbers for TensorBoard
- ``metrics``: numbers over time, as JSON lines and for TensorBoard
- ``progress``: live progress in the terminal
- ``tables``: comparisons in the terminal
- ``pictures``: the learning curve
- ``report``: everything about a run on one HTML page
"""

from aerl_trainer.run.reporting.metrics import MetricsLog, read_metrics
from aerl_trainer.run.reporting.pictures import learning_curve
from aerl_trainer.run.reporting.progress import Figures, Progress, Status
from aerl_trainer.run.reporting.report import Section, write_report
from aerl_trainer.run.reporting.run_directory import RunDirectory, system_info
from aerl_trainer.run.reporting.tables import print_table

__all__ = [
    "Figures",
    "MetricsLog",
    "Progress",
    "RunDirectory",
    "Section",
    "Status",
    "learning_curve",
    "print_table",
    "read_metrics",
    "system_info",
    "write_report",
]
