"""The process that LLVM runs in: ``python -m llvm_phase.worker BACKEND``.

Requests and answers are frames: four bytes of length, then JSON. A request is textual IR and a
pipeline; the answer is the IR after it (null where it is the same) with its features, or an error.
The process ends with its standard input.
"""

import json
import os
import resource
import struct
import sys
import time
from typing import IO, Any

from llvm_phase.autophase import autophase
from llvm_phase.backends import RefusedError, find

__all__ = ["main", "read_frame", "write_frame"]

MEMORY_BYTES = 4 * 2**30
LENGTH = struct.Struct("<I")


def write_frame(stream: IO[bytes], message: dict[str, Any]) -> None:
    """Send one message."""
    body = json.dumps(message).encode()
    stream.write(LENGTH.pack(len(body)) + body)
    stream.flush()


def read_frame(stream: IO[bytes]) -> dict[str, Any] | None:
    """Receive one message; None at the end of the stream."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    body = stream.read(length)
    return json.loads(body) if len(body) == length else None


def main() -> int:
    """Answer requests until there are no more; the first message names the backend."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    # What a pass prints must not get between the frames.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        backend = find(sys.argv[1])
    except OSError as error:
        write_frame(answers, {"error": str(error)})
        return 1
    write_frame(answers, {"backend": backend.name})
    while (request := read_frame(sys.stdin.buffer)) is not None:
        start = time.process_time()
        try:
            ir = backend.run(request["ir"], request["passes"])
        except RefusedError as error:
            answer: dict[str, Any] = {"error": str(error)}
        else:
            # The text of a program may come from elsewhere, and has no features yet.
            same = ir == request["ir"] and request["passes"] != ""
            answer = {"ir": None if same else ir, "features": None if same else autophase(ir)}
            answer["cpu_s"] = time.process_time() - start
        try:
            write_frame(answers, answer)
        except BrokenPipeError:
            break
    return 0


if __name__ == "__main__":
    sys.exit(main())
