"""What the server of the studio answers, and what it refuses."""

import json
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

pytest.importorskip("django_ace", reason="the extra studio is not installed")


def ask(studio, path: str, method: str = "GET", body: object = None, **headers: str):
    connection = HTTPConnection("127.0.0.1", studio.port, timeout=300)
    sent = None if body is None else json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if sent is not None:
        named.setdefault("Content-Type", "application/json")
    connection.request(method, path, sent, named)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, answer.headers


def test_nobody_without_the_token_is_answered(serve) -> None:
    studio = serve("a :- b.")
    path = urlsplit(studio.address).path
    assert ask(studio, path)[0] == 200
    for refused in ("/", "/api/state", "/wrong/", f"{path[:-2]}/", path.rstrip("/")):
        status, text, _ = ask(studio, refused)
        assert (status, "larspark studio" in text, "b." in text) == (403, True, False)
    assert ask(studio, "/x/api/program", "POST", {"text": "c :- d."})[0] == 403
    assert studio.desk.document.text == "a :- b."


def test_other_names_of_this_machine_and_other_pages_are_refused(serve) -> None:
    studio = serve("a :- b.")
    path = urlsplit(studio.address).path
    assert ask(studio, path, Host="evil.example")[0] == 403
    edit = {"text": "c :- d."}
    assert ask(studio, f"{path}api/program", "POST", edit, Origin="http://evil.example")[0] == 403
    plain = {"Content_Type": "text/plain"}
    assert ask(studio, f"{path}api/program", "POST", edit, **plain)[0] == 415
    assert studio.desk.document.text == "a :- b."


@pytest.mark.parametrize("length", ["\xb2", "-1", "x", str(1 << 40), "9" * 5000])
def test_bodies_of_no_or_too_large_a_length_are_refused(serve, length: str) -> None:
    studio = serve("a :- b.")
    path = urlsplit(studio.address).path
    edit = {"text": "c :- d."}
    assert ask(studio, f"{path}api/program", "POST", edit, Content_Length=length)[0] == 413
    assert studio.desk.document.text == "a :- b."


def test_only_the_files_of_the_page_are_served(serve) -> None:
    studio = serve("")
    path = urlsplit(studio.address).path
    for name in ("studio.js", "ace/ace.js", "timeline.css"):
        assert ask(studio, path + name)[0] == 200
    for name in ("../server.py", "%2e%2e/server.py", "ace/../../widgets.py", "ace/mode-sql.js"):
        assert ask(studio, path + name)[0] == 404
    _, page, headers = ask(studio, path)
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "://" not in page


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("api/program", {"text": 3}),
        ("api/explain", {"atom": "p", "at": "x"}),
        ("api/hover", {"text": "", "line": 9, "column": 1}),
        ("api/data", {"map": "", "name": "x.exe", "text": ""}),
        ("api/program", [1]),
    ],
)
def test_requests_with_wrong_values_are_refused(serve, name: str, body: object) -> None:
    studio = serve("")
    status, _, _ = ask(studio, urlsplit(studio.address).path + name, "POST", body)
    assert status == 400


def test_problems_are_answers_too(serve) -> None:
    studio = serve("")
    path = urlsplit(studio.address).path
    status, text, _ = ask(studio, f"{path}api/explain", "POST", {"atom": "p(X", "at": 1})
    assert status == 422
    assert json.loads(text)["problems"][0]["code"].startswith("L")
    status, text, _ = ask(studio, f"{path}api/save", "POST", {"text": "", "name": "../x.lars"})
    assert (status, json.loads(text)["problems"][0]["code"]) == (422, "L505")
