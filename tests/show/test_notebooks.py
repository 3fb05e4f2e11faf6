"""Cells that begin with `%%lars`, and the notebook of the documentation."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import larspark as lp

TUTORIAL = Path(__file__).parents[2] / "examples" / "machines" / "tutorial.ipynb"
RULE = "#tick 1 min.\nhot(M) :- [3 min] some temp(M, V), V > 90.\n"


@pytest.fixture(scope="module")
def ipython() -> Any:
    testing = pytest.importorskip("IPython.testing.globalipapp")
    started = testing.start_ipython()
    started.run_line_magic("load_ext", "larspark")
    return started


@pytest.fixture
def shell(ipython: Any) -> Iterator[Any]:
    known = set(ipython.user_ns)
    yield ipython
    for name in set(ipython.user_ns) - known:
        del ipython.user_ns[name]


def cell(shell: Any, line: str, text: str) -> Any:
    """What a cell shows; its error is raised."""
    ran = shell.run_cell(f"%%lars {line}\n{text}")
    ran.raise_error()
    return ran.result


def frame() -> Any:
    pandas = pytest.importorskip("pandas")
    times = pandas.to_datetime(["2026-03-01 12:00", "2026-03-01 12:02"], utc=True)
    return pandas.DataFrame({"time": times, "sensor": ["m1", "m2"], "value": [95.5, 91]})


def test_a_cell_draws_a_run_and_keeps_the_program_and_the_answers(shell: Any) -> None:
    shell.user_ns["frame"] = frame()
    line = "hot -s frame -m 'time -> temp(sensor, value)' -a found --only 'hot'"
    shown = cell(shell, line, RULE)
    mapping = "time -> temp(sensor, value)"
    assert str(shown) == str(lp.show(RULE, frame(), map=mapping, only=["hot"]))
    assert shell.user_ns["found"] == lp.run(RULE, frame(), map=mapping)
    assert str(shell.user_ns["hot"]) == lp.Program.parse(RULE).text


def test_a_cell_without_a_stream_says_what_is_known_of_the_program(shell: Any) -> None:
    report = cell(shell, "", RULE)
    assert "looks back      3 min: 3 time points" in repr(report)


def test_a_cell_reads_files_background_and_other_languages(shell: Any, tmp_path: Path) -> None:
    path = tmp_path / "a b.jsonl"
    path.write_text('{"t": 1, "atom": "p(1)"}\n{"t": 2, "atom": "p(2)"}\n')
    shell.user_ns["known"] = ["known(2)"]
    cell(shell, f"-s '{path}' -b known -a found", "q(X) :- p(X), known(X).")
    assert shell.user_ns["found"].to_pylist() == [{"atom": "q(2)", "from": 2, "to": 2}]
    shown = cell(shell, f"-s '{path}' -d ltl --from 0 --to 2 --only seen", "seen := O p(1)")
    assert [lane.label for lane in shown.timeline.lanes] == ["seen"]


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        ("", "hot(M :- temp(M, V).", "<cell>:1:4: error L106: `(` is not closed"),
        ("--strem x", RULE, "unrecognized arguments: --strem"),
        ("-m 'a", RULE, "No closing quotation"),
        ("-b nothing", RULE, "there is no variable `nothing`"),
        ("-s missing.csv", RULE, "cannot read missing.csv"),
    ],
)
def test_mistakes_end_a_cell_without_a_traceback(
    shell: Any, capsys: Any, line: str, text: str, message: str
) -> None:
    ran = shell.run_cell(f"%%lars {line}\n{text}")
    assert type(ran.error_in_exec).__name__ == "UsageError"
    assert message in str(ran.error_in_exec)
    assert "Traceback" not in capsys.readouterr().err


def test_the_help_of_a_cell_lists_its_options(shell: Any) -> None:
    documentation = shell.find_cell_magic("lars").__doc__
    assert "--stream" in documentation
    assert "%%lars" in documentation


def test_the_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    for name in ("HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, os.fspath(tmp_path))
    notebook = nbformat.read(TUTORIAL, as_version=4)
    folder = {"metadata": {"path": os.fspath(TUTORIAL.parent)}}
    nbclient.NotebookClient(notebook, timeout=600, resources=folder).execute()
    outputs = [out for each in notebook.cells for out in each.get("outputs", ())]
    shown = [out["data"] for out in outputs if "data" in out]
    assert sum("<iframe srcdoc=" in data.get("text/html", "") for data in shown) == 3
    texts = [data["text/plain"] for data in shown]
    texts += [out["text"] for out in outputs if "text" in out]
    joined = "\n".join(texts)
    assert "alarm(m1) 2026-03-01 10:01:00+00:00" in joined
    assert "holds until 2026-03-01T10:04:00Z if nothing more arrives" in joined
    assert "two time points too early for [3]" in joined
    assert "average(m1,71..95)" in joined
    assert "over: ['alarm(m1)', 'hot(m1)']" in joined
