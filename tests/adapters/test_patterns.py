"""Files that a path names, or a pattern."""

from pathlib import Path

from elmo_plugin.adapters.patterns import matching


def test_what_matches(tmp_path: Path) -> None:
    """Brackets in the name of a folder, or of a file that is there, are letters."""
    for folder in ("d1", "d[12]"):
        (tmp_path / folder).mkdir()
        for name in ("b.txt", "a.txt", "a[1].txt"):
            (tmp_path / folder / name).write_text("")
    odd = f"{tmp_path}/d[12]"

    assert matching(f"{odd}/*.txt") == [f"{odd}/a.txt", f"{odd}/a[1].txt", f"{odd}/b.txt"]
    assert matching(f"{odd}/a[1].txt") == [f"{odd}/a[1].txt"]
    assert matching(odd) == [odd] and matching(f"{odd}/*.json") == matching(f"{odd}/c.txt") == []
