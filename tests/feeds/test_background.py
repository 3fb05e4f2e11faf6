"""Background data in files."""

import pyarrow as pa
import pyarrow.parquet
import pytest

from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError
from larspark.feeds import read_background
from larspark.feeds.mapping import ColumnName, Kind, parse_table_columns

LINE = Signature("line", 2)


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def shown(atoms):
    return [str(atom) for atom in atoms]


def failure(*args, **options):
    with pytest.raises(LarsparkError) as error:
        read_background(*args, **options)
    return str(error.value)


def test_a_csv_file_gives_a_fact_for_each_record(write):
    path = write("lines.csv", 'a1,l1\n\na2,"l 2"\n7,2.50\n')
    assert shown(read_background(path, LINE)) == [
        "line(a1,l1)",
        'line(a2,"l 2")',
        'line("7","2.50")',
    ]


def test_the_name_of_the_file_is_the_predicate_if_none_is_given(write):
    assert shown(read_background(write("line.csv", "a1,l1\n"))) == ["line(a1,l1)"]
    path = write("2013-lines.csv", "a1,l1\n")
    assert failure(path) == (
        f"error L316: the name of {path} is not a valid predicate\n"
        '  hint: name one, e.g. `#background "lines.csv" as line/2.`'
    )


TYPED = "id,limit,rate\n007,90,4\n1e5,95,5.5\n"


def test_named_columns_have_types(write, recwarn):
    _, columns = parse_table_columns("site(text(id), limit, number(rate))")
    assert columns == (
        ColumnName("id", Kind.TEXT),
        ColumnName("limit"),
        ColumnName("rate", Kind.NUMBER),
    )
    names, kinds = ("id", "limit"), (Kind.TEXT, None)
    facts = read_background(write("s.csv", TYPED), LINE, columns=names, kinds=kinds)
    assert shown(facts) == ['line("007",90)', 'line("1e5",95)']
    path = write("t.parquet", "")
    pa.parquet.write_table(pa.table({"id": [7, 8], "limit": ["90", "95"]}), path)
    facts = read_background(path, LINE, columns=names, kinds=kinds)
    assert shown(facts) == ['line("7","90")', 'line("8","95")']
    assert not recwarn.list


def test_a_column_read_as_text_is_told_how_to_say_so(write):
    path = write("s.csv", TYPED)
    with pytest.warns(UserWarning, match=r"`text\(id\)` says that it is meant"):
        read_background(path, Signature("site", 1), columns=("id",))
    with pytest.warns(UserWarning, match="columns have names and types in `#background"):
        read_background(write("p.csv", "007\n8\n"), Signature("p", 1))


def test_what_is_no_column_of_a_table_is_refused():
    with pytest.raises(LarsparkError, match="does not consist of the columns of a table"):
        parse_table_columns("site(device.id, 3)")


@pytest.mark.parametrize(
    ("text", "columns", "facts"),
    [
        ("id,speed\na,1\nb,2\n", (), ["p(a,1)", "p(b,2)"]),
        ("id,speed\na,1\nb,2\n", ("id", "speed"), ["p(a,1)", "p(b,2)"]),
        ("id,name\na,x\n", (), ["p(id,name)", "p(a,x)"]),
        ("id,name\na,x\n", ("id", "name"), ["p(a,x)"]),
        ("a,1\nb,x\n", (), ['p(a,"1")', "p(b,x)"]),
        ("1,2\n3,4\n", (), ["p(1,2)", "p(3,4)"]),
        ("a,x\n", (), ["p(a,x)"]),
        ("a,x\n", ("a", "x"), []),
    ],
)
def test_a_header_is_known_by_a_text_above_numbers_or_because_it_is_said(
    write, text, columns, facts
):
    path = write("p.csv", text)
    assert shown(read_background(path, Signature("p", 2), columns=columns)) == facts


def test_columns_of_a_kind_hold_nothing_else(write):
    text = "7,1\n007,2\n"
    kinds = (Kind.TEXT, Kind.INTEGER)
    facts = ['p("7",1)', 'p("007",2)']
    assert shown(read_background(write("p.csv", text), Signature("p", 2), kinds=kinds)) == facts
    assert shown(read_background(write("e.csv", "a,b\n"), columns=("a", "b"), kinds=kinds)) == []
    path = write("p.csv", "a,1\nb,x\n")
    message = f'{path}:2:1: error L313: column `2`: "x" is not a number'
    assert failure(path, Signature("p", 2), kinds=kinds) == message


def test_named_columns_are_those_of_the_header(write):
    path = write("p.csv", "site,from,pump\nNorth,1,P1\nSouth,2,P2\n")
    facts = read_background(path, Signature("p", 2), columns=("pump", "site"))
    assert shown(facts) == ['p("P1","North")', 'p("P2","South")']
    assert "did you mean `pump`?" in failure(path, Signature("p", 1), columns=("pmp",))
    named = read_background(write("s.csv", "a;b\nx;y\n"), Signature("p", 1), columns=("b",))
    assert shown(named) == ["p(y)"]


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("pump,site\nP1,North\n", True),
        ("pump name,site\nP1,North\n", True),
        ("pump,site\npump,North\n", False),
        ("p1,north\np2,south\n", False),
        ("pump,site\n", False),
        ("pump,limit\nP1,90\n", False),
    ],
)
def test_a_first_record_that_looks_like_a_header_is_warned_about(write, recwarn, text, warned):
    read_background(write("p.csv", text), Signature("p", 2))
    assert (
        any("L329: the first record is read as a fact" in str(one.message) for one in recwarn)
        is warned
    )


def test_parquet_and_tsv_and_compressed_files_are_read(write, tmp_path):
    path = tmp_path / "line.parquet"
    pa.parquet.write_table(pa.table({"id": ["a1", "a2"], "line": [1, 2]}), path)
    assert shown(read_background(path)) == ["line(a1,1)", "line(a2,2)"]
    assert shown(read_background(write("line.tsv", "a1\tl1\n"), LINE)) == ["line(a1,l1)"]


def test_json_lines_and_facts_are_read(write):
    text = '{"atom": "line(a1,l1)"}\n\n{"predicate": "line", "args": ["a2", 2.0]}\n{"atoms": []}\n'
    assert shown(read_background(write("l.jsonl", text), LINE)) == ["line(a1,l1)", "line(a2,2)"]
    text = "% lines\nline(a1,l1). line(a2,\n 2).\nplan(l1,a,b,3)."
    path = write("l.lars", text)
    assert shown(read_background(path)) == ["line(a1,l1)", "line(a2,2)", "plan(l1,a,b,3)"]


def test_facts_of_another_signature_are_refused(write):
    path = write("l.lars", "line(a1,l1).\nline(a1).\nbus(b,c).")
    assert failure(path, LINE) == (
        f"{path}:2:1: error L316: line(a1) is not a fact of `line/2`\n"
        f"{path}:3:1: error L316: bus(b,c) is not a fact of `line/2`"
    )


def test_all_problems_of_a_file_are_told_at_once(write):
    path = write("l.jsonl", '{"t": 1, "atom": "a"}\n{"atom": "p(X)"}\n{}\n')
    assert failure(path) == (
        f"{path}:1:3: error L309: background data has no time\n"
        '  1 | {"t": 1, "atom": "a"}\n    |   ^\n  hint: leave `t` out\n'
        f"{path}:2:13: error L312: `X` is a variable, and facts have no variables\n"
        '  2 | {"atom": "p(X)"}\n    |             ^\n'
        '  hint: quote a text that does not begin with a lowercase letter: "X"\n'
        f"{path}:3:1: error L309: there is no atom on this line\n  3 | {{}}\n    | ^"
    )
    path = write("l.lars", "@36 a.\na :- b.\n")
    assert failure(path) == (
        f"{path}:1:1: error L315: background data has no time\n"
        "  1 | @36 a.\n    | ^\n  hint: write `line(a1,l1).`\n"
        f"{path}:2:3: error L315: a rule is not allowed among facts\n  2 | a :- b.\n    |   ^"
    )
    path = write("l.csv", "a,1\nb,\nc\n\xff,4\n".encode("latin-1"))
    assert failure(path, LINE) == (
        f"{path}:4:1: error L307: column `1`: the text is not valid UTF-8\n"
        f"{path}:2:1: error L313: column `2`: there is no value\n"
        f"{path}:3:1: error L316: the record has 1 values, not 2\n  3 | c\n    | ^"
    )


def test_the_number_of_columns_must_be_that_of_the_arguments(write, tmp_path):
    path = write("l.csv", "a,b,c\n")
    assert failure(path, LINE) == (
        f"error L316: {path} has 3 columns, but a fact of `line/2` has 2"
    )
    path = tmp_path / "line.parquet"
    pa.parquet.write_table(pa.table({"id": [[1]]}), path)
    assert (
        failure(path)
        == "error L305: column `id` has the type list<element: int64>, which cannot be a constant"
    )


def test_an_empty_csv_file_has_no_columns(write):
    path = write("line.csv", "")
    assert failure(path, LINE) == f"{path}:1:1: error L304: there are no columns"
