"""Compilation of kernels by a process in the background.

The process goes on when the program that has started it ends, so that the next run finds the
kernels; then it ends, too. Requests are lines of text: the module and the name of a kernel, and the
types of its arguments.
"""

import atexit
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

_WORKER = "larspark.run.interval.kernels.compile_worker"


def type_text(kind: Any) -> str:
    """One of Numba's types as a word: `int64`, or `int64.2.C` for an array."""
    if hasattr(kind, "ndim"):
        writable = "" if kind.mutable else ".readonly"
        return f"{kind.dtype}.{kind.ndim}.{kind.layout}{writable}"
    return str(kind)


class BackgroundCompiler:
    """Starts the process when it is needed first, and sends it requests."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._requested: set[str] = set()
        self._has_failed = False

    def request(self, module: str, name: str, types: tuple[Any, ...]) -> bool:
        """Have a kernel compiled; False if there is no process that could do it."""
        line = " ".join([module, name, *map(type_text, types)])
        if self._process is not None and self._process.poll() is not None:
            # It has ended, and the kernel is not there.
            self._has_failed = True
        if self._has_failed:
            return False
        if line in self._requested:
            return True
        try:
            self._send(line)
        except OSError:
            self._has_failed = True
            return False
        self._requested.add(line)
        return True

    def _send(self, line: str) -> None:
        requests = self._requests()
        requests.write(line + "\n")
        requests.flush()

    def _requests(self) -> IO[str]:
        if self._process is None:
            if not sys.executable:
                raise OSError("there is no Python to start")
            paths = os.pathsep.join(os.path.abspath(path) for path in sys.path if path)
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                # Without `-P` modules of the current directory would come first.
                [sys.executable, "-P", "-m", _WORKER, str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, "PYTHONPATH": paths},
                cwd=Path(__file__).parent,
                # An interrupt is meant for the program, not for the compilation.
                start_new_session=True,
            )
            atexit.register(self._leave, self._process)
        if self._process.stdin is None:
            raise OSError("the process takes no requests")
        return self._process.stdin

    def _leave(self, process: "subprocess.Popen[str]") -> None:
        """Let the process finish what was requested, and do not wait for it."""
        if process.stdin is not None:
            process.stdin.close()
        # It is not ours to wait for any more.
        process.returncode = 0
