import pytest

from elmo_plugin.formats.atomic import replacing


def test_the_file_appears_when_the_block_ends(tmp_path):
    target = tmp_path / "new" / "file"
    with replacing(target) as part:
        part.write_text("done")
        assert not target.exists()

    assert target.read_text() == "done"
    assert [path.name for path in target.parent.iterdir()] == ["file"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "file"
    target.write_text("old")
    with pytest.raises(RuntimeError, match="power"), replacing(target) as part:
        part.write_text("ha")
        raise RuntimeError("power cut")

    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
