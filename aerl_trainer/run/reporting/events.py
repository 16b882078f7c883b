"""Scalars for TensorBoard, in one file of events.

``SummaryWriter`` of torch writes in a thread of its own: where the disk is full, its traceback is
all that is seen. Here the caller writes.
"""

import os
import socket
import time
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

FORMAT = "brain.Event:2"


class EventFile:
    """A new file in a folder.

    Args:
        folder: of all files of a run; made if it is missing.
        purge_step: TensorBoard hides what earlier files hold from this step on; None = nothing.

    Raises:
        OSError: it cannot be written; as of all methods.
    """

    def __init__(self, folder: Path, purge_step: int | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        now = time.time()  # noqa: TID251 - TensorBoard reads the files in this order
        name = f"events.out.tfevents.{now:.9f}.{socket.gethostname()}.{os.getpid()}"
        self.path = folder / name
        self._file = self.path.open("xb")
        self._writer = RecordWriter(self._file)
        self._write(Event(file_version=FORMAT, step=purge_step or 0))
        if purge_step is not None:
            self._write(Event(step=purge_step, session_log=SessionLog(status=SessionLog.START)))

    def add(self, scalars: dict[str, float], step: int) -> None:
        """Write numbers by their names; they are on disk at once."""
        values = [Summary.Value(tag=name, simple_value=value) for name, value in scalars.items()]
        self._write(Event(step=step, summary=Summary(value=values)))

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def _write(self, event: Event) -> None:
        event.wall_time = time.time()  # noqa: TID251 - to be shown
        self._writer.write(event.SerializeToString())
        self._writer.flush()
