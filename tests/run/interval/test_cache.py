"""Compiled kernels live as long as the sources they were made from."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from larspark.run.interval.kernels import compiled_cache
from larspark.run.interval.kernels.compiled_cache import (
    cache_folder,
    compiled_files,
    remove_outdated,
)


def test_compiled_kernels_go_when_any_source_of_the_folder_changes(tmp_path: Path) -> None:
    layout, compiled = tmp_path / "layout.py", tmp_path / "__pycache__" / "probe.find.nbi"
    layout.write_text("TIME = 2\n")
    remove_outdated(tmp_path)
    compiled.write_bytes(b"code")
    remove_outdated(tmp_path)
    assert compiled.exists()
    layout.write_text("TIME = 3\n")
    remove_outdated(tmp_path)
    assert not compiled.exists()


def test_a_folder_that_cannot_be_written_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "layout.py").write_text("TIME = 2\n")
    (tmp_path / "__pycache__").write_text("a file where the folder would be")
    remove_outdated(tmp_path)
    assert (tmp_path / "__pycache__").is_file()


@pytest.fixture
def read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of sources that cannot be written to, with a compiled kernel."""
    pytest.importorskip("numba")
    folder = tmp_path / "kernels"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "layout.py").write_text("TIME = 2\n")
    remove_outdated(folder)
    for suffix in ("nbi", "1.nbc"):
        (folder / "__pycache__" / f"probe.find.{suffix}").write_bytes(b"code")
    monkeypatch.setattr(compiled_cache, "_SOURCES", folder)
    monkeypatch.setattr(compiled_cache, "_is_writable", lambda _: False)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("LARSPARK_CACHE", str(tmp_path / "private"))
    cache_folder.cache_clear()
    yield folder
    cache_folder.cache_clear()


def test_beside_sources_that_cannot_be_written_to_a_private_folder_is_used(read_only: Path) -> None:
    first = cache_folder()
    assert first.parent == read_only.parent / "private"
    # It begins with what is compiled already, in the folder where Numba looks for it.
    [subfolder] = first.iterdir()
    assert sorted(path.name for path in subfolder.iterdir()) == [
        "probe.find.1.nbc",
        "probe.find.nbi",
    ]
    (read_only / "layout.py").write_text("TIME = 3\n")
    cache_folder.cache_clear()
    other = cache_folder()
    assert other != first
    assert list(other.iterdir()) == []


def test_compiled_kernels_travel_as_long_as_they_fit_the_sources(read_only: Path) -> None:
    beside = read_only / "__pycache__"
    names = {path.name for path, _ in compiled_files()}
    assert {path.parent for path, _ in compiled_files()} == {beside}
    assert names == {"kernels.sha256", "probe.find.1.nbc", "probe.find.nbi"}
    (read_only / "layout.py").write_text("TIME = 3\n")
    assert [path.name for path, _ in compiled_files()] == ["kernels.sha256"]


def test_kernels_in_a_folder_of_others_are_not_loaded(
    read_only: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("LARSPARK_CACHE", str(shared))
    with pytest.raises(OSError, match="can be written to by others"):
        cache_folder()
