"""Options of languages, such as CQL's `--range`, in all commands that read a program."""

from pathlib import Path

import typer
from tests.in_process import larspark

from larspark.cli import app
from larspark.language import DIALECTS


def test_every_command_that_reads_a_program_takes_the_options_of_its_language() -> None:
    given = {option for dialect in DIALECTS.values() for option in dialect.options}
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        options = {text.strip("-") for param in command.params for text in param.opts}
        if "dialect" in options:
            assert given <= options, name


def test_reasoning_tasks_read_a_query_with_its_options(tmp_path: Path) -> None:
    script = "REGISTER STREAM S (a INTEGER); SELECT DISTINCT a FROM S [RANGE 2 SECONDS]"
    (tmp_path / "q.cql").write_text(script)
    (tmp_path / "q.lars").write_text("answer(A) :- [1] some s(A).\n")
    (tmp_path / "s.csv").write_text("t,a\n1,1\n3,3\n")
    (tmp_path / "a.jsonl").write_text('{"t": 3, "atoms": ["answer(3)"]}\n')
    half = ("--range", "halfopen")
    data = ("q.cql", "--stream", "s.csv", "--at", "3")

    def output(*args: str) -> str:
        done = larspark(tmp_path, *args)
        return done.stdout or done.stderr

    assert '"answer": false' in output("verify", *data, "--answer", "a.jsonl")
    assert output("verify", *data, "--answer", "a.jsonl", *half) == '{"answer": true}\n'
    assert output("models", *data, *half) == '{"model": 1, "stream": {"3": ["answer(3)"]}}\n'
    asked = output("hypothesize", "q.cql", "answer(1)", "--preconditions", *half)
    assert asked == output("hypothesize", "q.lars", "answer(1)", "--preconditions")
    both = ("equivalent", "q.cql", "q.lars", "--timeline", "0,3")
    assert output(*both).startswith('{"t": 0, "atoms": ["s(a)"]}')
    # The other program's language has no such option.
    assert output(*both, *half).startswith("none up to 3")
    assert "L126: the dialect `cql` has no option `t0`" in output(*both, "--t0", "2")
