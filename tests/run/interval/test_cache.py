"""Compiled kernels live as long as the sources they were made from."""

from pathlib import Path

from larspark.run.interval.kernels.compiled_cache import remove_outdated


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
