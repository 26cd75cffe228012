import os

import pytest

from elmo_plugin.formats.atomic import remove_unfinished, replacing


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


def test_a_folder_of_that_name_is_refused_before_the_work(tmp_path):
    (tmp_path / "file").mkdir()
    with pytest.raises(IsADirectoryError, match="file: is a folder"), replacing(tmp_path / "file"):
        pytest.fail("the work has begun")

    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_longest_name_is_written(tmp_path):
    target = tmp_path / ("x" * 255)
    with replacing(target) as part:
        part.write_text("done")

    assert target.read_text() == "done"


@pytest.mark.skipif(os.name != "posix", reason="Windows has other permissions")
def test_the_file_may_be_read_by_whom_other_new_files_may_be_read(tmp_path):
    (tmp_path / "other").touch()
    with replacing(tmp_path / "file") as part:
        part.unlink()
        os.close(os.open(str(part), os.O_CREAT | os.O_WRONLY, 0o600))  # as safetensors does

    assert (tmp_path / "file").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_link_is_followed(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk" / "file")
    with replacing(tmp_path / "link") as part:
        part.write_text("done")

    assert (tmp_path / "link").is_symlink() and (tmp_path / "disk" / "file").read_text() == "done"


def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileExistsError, match="pipe: is a device or a pipe"), replacing(tmp_path / "pipe"):
        pytest.fail("the work has begun")


def test_what_a_killed_process_left_is_removed(tmp_path):
    (tmp_path / f".{'0f' * 16}.tmp").write_text("half")
    for name in (".mine.tmp", "text.tmp"):
        (tmp_path / name).write_text("not ours")
    remove_unfinished(tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == [".mine.tmp", "text.tmp"]
