"""A run goes on from any of its commits, and from none that was tampered with."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from tests.in_process import larspark
from tests.simulation.scenario import PROGRAMS, lines_of

from larspark.feeds.live import LiveStream
from larspark.run.state import SavedState

LARSPARK = Path(sys.executable).with_name("larspark")
FORMS = (("points",), ("changes",), ("intervals",), ("points", "--mode", "push"))


@contextmanager
def block_by_block() -> Iterator[None]:
    """In this context a run reads a few lines at a time, and commits after them."""
    one_by_one = partial(LiveStream, queue=1)
    with (
        patch("larspark.feeds.live.growing._READ", 70),
        patch("larspark.cli.live_run.LiveStream", one_by_one),
    ):
        yield


@pytest.mark.parametrize("form", FORMS, ids="-".join)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_run_goes_on_from_any_of_its_commits(
    program: str, form: tuple[str, ...], tmp_path: Path
) -> None:
    rng = Random(f"{program} {form}")
    folder = tmp_path / "whole"
    folder.mkdir()
    (folder / "p.lars").write_text(PROGRAMS[program])
    lines = lines_of(rng, rng.randrange(3, 9), timed=True)
    (folder / "s.jsonl").write_text("".join([*lines, '{"t": 11}\n']))
    words = ("run", "p.lars", "-s", "s.jsonl", "--until", "20", "-o", "out", "--as", *form)
    durable = (*words, "--state", "S", "--commit-every", "1us")
    with block_by_block(), patch("larspark.run.commits._KEPT", 999):
        assert larspark(folder, *durable).returncode == 0
    expected = (folder / "out").read_text()
    assert larspark(folder, *words, "--overwrite").returncode == 0
    assert (folder / "out").read_text() == expected
    *commits, _ = sorted(folder.glob("S/commit-*"))
    assert len(commits) > len(lines) // 4
    for number in range(1, len(commits) + 1):
        killed = tmp_path / str(number)
        (killed / "S").mkdir(parents=True)
        for commit in commits[:number]:
            shutil.copy(commit, killed / "S")
        shutil.copy(folder / "p.lars", killed)
        shutil.copy(folder / "out", killed)
        # It is the same file.
        os.link(folder / "s.jsonl", killed / "s.jsonl")
        done = larspark(killed, *durable)
        assert done.returncode == 0, done
        assert (killed / "out").read_text() == expected, f"resumed from commit {number}"
        assert "the stream has no facts" not in done.stderr


@pytest.mark.parametrize("form", [form[0] for form in FORMS[:3]])
def test_a_run_that_was_killed_after_the_last_line_answers_the_last_time_point(
    form: str, tmp_path: Path
) -> None:
    (tmp_path / "p.lars").write_text(PROGRAMS["windows"])
    facts = ('{"t": 1, "atom": "temp(m1,95)"}\n', '{"t": 5, "atom": "temp(m2,95)"}\n')
    (tmp_path / "s.jsonl").write_text("".join(facts))
    words = ("run", "p.lars", "-s", "s.jsonl", "--as", form, "-o", "out")
    assert larspark(tmp_path, *words).returncode == 0
    expected = (tmp_path / "out").read_text()
    durable = (*words, "--overwrite", "--state", "S", "--commit-every", "1us")
    with (tmp_path / "err").open("wb") as err:
        run = subprocess.Popen([LARSPARK, *durable, "--follow"], cwd=tmp_path, stderr=err)
    read = f'"offset":{len("".join(facts))}'.encode()
    while not any(read in path.read_bytes() for path in tmp_path.glob("S/commit-*")):
        assert run.poll() is None, (tmp_path / "err").read_text()
        time.sleep(0.01)
    run.kill()
    run.wait()
    done = larspark(tmp_path, *durable)
    assert done.returncode == 0, done
    assert (tmp_path / "out").read_text() == expected
    assert "the stream has no facts" not in done.stderr


def test_a_run_that_is_behind_can_commit_after_every_block(tmp_path: Path) -> None:
    count = 50
    (tmp_path / "s.jsonl").write_text("".join(f'{{"t": {t}, "atom": "a"}}\n' for t in range(count)))
    facts, seen = 0, list[int]()
    with patch("larspark.feeds.live.growing._READ", 70):
        stream = LiveStream(str(tmp_path / "s.jsonl"), owner="me", retry=False)

        def rest(idle: bool) -> None:
            # Everything is in the queue before anything is taken out.
            while stream.traffic.lines < count:
                time.sleep(0.001)
            seen.append(facts)

        stream.at_rest = rest
        for batch in stream.batches():
            facts += len(batch)
    assert facts == count
    assert len(set(seen)) > count // 4


def nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every list or object of a JSON value, with a key in it."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from nodes(value[key])


@pytest.mark.parametrize("wrong", [{}, "x", -1.5], ids=repr)
@pytest.mark.parametrize("form", ["intervals", "changes"])
def test_a_commit_with_parts_that_are_not_what_they_should_be_is_refused(
    form: str, wrong: object, tmp_path: Path
) -> None:
    (tmp_path / "p.lars").write_text(PROGRAMS["windows"])
    (tmp_path / "s.jsonl").write_text("".join(lines_of(Random(form), 12, timed=True)))
    words = ["run", "p.lars", "-s", "s.jsonl", "-o", "out", "--lateness", "2", "--as", form]
    words += ["--state", "S", *(("--every", "7 signals") if form == "changes" else ())]
    with block_by_block(), patch("larspark.run.commits._KEPT", 999):
        assert larspark(tmp_path, *words, "--commit-every", "1us").returncode == 0
    commits = sorted(tmp_path.glob("S/commit-*"))
    chosen = commits[len(commits) // 2]
    saved = SavedState.from_bytes(chosen.read_bytes(), "run")
    for commit in commits:
        commit.unlink()
    out = (tmp_path / "out").read_bytes()
    values, refused = saved.state.values, 0
    for part in ("stream", "answers"):
        for inner, key in list(nodes(values[part])):
            right, inner[key] = inner[key], wrong
            chosen.write_bytes(saved.to_bytes())
            inner[key] = right
            done = larspark(tmp_path, *words)
            refused += done.returncode
            # Some texts and numbers are as good as others.
            assert done.returncode in (0, 1), (part, key, done)
            for commit in tmp_path.glob("S/commit-*"):
                commit.unlink()
            (tmp_path / "out").write_bytes(out)
    assert refused > 10
