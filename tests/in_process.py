"""The command line within the process of the tests: the same words, without the time to start."""

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from larspark.cli import main


class Done(NamedTuple):
    stdout: str
    stderr: str
    returncode: int


def larspark(folder: Path, *words: str) -> Done:
    """Run a command in a folder, as `larspark` does when its output is a pipe."""
    stdout, stderr = io.StringIO(), io.StringIO()
    before = Path.cwd()
    os.chdir(folder)
    code = 0
    try:
        with (
            patch.object(sys, "argv", ["larspark", *words]),
            redirect_stdout(stdout),
            redirect_stderr(stderr),
        ):
            main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    finally:
        os.chdir(before)
    return Done(stdout.getvalue(), stderr.getvalue(), code)
