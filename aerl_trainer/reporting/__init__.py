"""What a run tells its user: its directory, metrics, live progress, pictures and tables.

Handlers observe; nothing here changes what is computed.
"""

from aerl_trainer.reporting.metrics import MetricsLog, read_metrics
from aerl_trainer.reporting.pictures import learning_curve
from aerl_trainer.reporting.progress import Progress, Status
from aerl_trainer.reporting.run_directory import RunDirectory, system_info
from aerl_trainer.reporting.tables import print_table

__all__ = [
    "MetricsLog",
    "Progress",
    "RunDirectory",
    "Status",
    "learning_curve",
    "print_table",
    "read_metrics",
    "system_info",
]
