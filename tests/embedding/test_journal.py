import numpy as np
import pytest
import torch

from elmo_plugin.embedding.journal import Journal, folder_of
from elmo_plugin.embedding.part_file import PartSummary, WindowVectors, read_state, read_summary, read_windows
from elmo_plugin.engine.errors import FormatError, OptionsError
from elmo_plugin.engine.file_lock import FileLock
from elmo_plugin.engine.lstm import LstmState

SETTINGS = {"layers": "all", "dim": 4}


def window(first=0):
    return WindowVectors(first, ["a b", "", "ü\0"], np.array([2, 0, 1]), np.arange(12, dtype=np.float32).reshape(3, 4))


def write_part(journal, number, state=None):
    part = journal.part(number)
    part.add(window())
    part.add(window(3))
    summary = PartSummary(number, 6 * (number + 1), 6, f"digest{number}", False, 2)
    part.commit(summary, state)
    return summary


def test_parts_come_back(tmp_path):
    journal = Journal(tmp_path / "out", SETTINGS)
    assert journal.open(resume=False) == []
    state = LstmState(torch.randn(2, 3, 4), torch.randn(2, 3, 5))
    written = [write_part(journal, 0), write_part(journal, 1, state)]
    journal.close()

    found = Journal(tmp_path / "out", SETTINGS).open(resume=True)

    assert found == written
    windows = list(read_windows(journal.path_of(found[0]), found[0]))
    assert [entry.first for entry in windows] == [0, 3]
    assert windows[0].texts == window().texts
    np.testing.assert_array_equal(windows[1].vectors, window().vectors)
    assert [(number, text, len(rows)) for number, text, rows in windows[1].lines()] == [
        (3, "a b", 2),
        (4, "", 0),
        (5, "ü\0", 1),
    ]
    assert read_state(journal.path_of(found[0])) is None
    assert torch.equal(read_state(journal.path_of(found[1])).cell, state.cell)


def test_nothing_is_lost_without_resume(tmp_path):
    journal = Journal(tmp_path / "out", SETTINGS)
    journal.open(resume=False)
    write_part(journal, 0)
    journal.close()
    with pytest.raises(OptionsError, match="holds an unfinished run that writes out. Go on with it"):
        Journal(tmp_path / "out", SETTINGS).open(resume=False)

    assert len(Journal(tmp_path / "out", SETTINGS).open(resume=True)) == 1


def test_another_run_is_refused(tmp_path):
    Journal(tmp_path / "out", SETTINGS).open(resume=False)
    with pytest.raises(OptionsError, match=r"asked for something else \(layers: 'all', now 'top'\)"):
        Journal(tmp_path / "out", {**SETTINGS, "layers": "top"}).open(resume=True)


def test_two_processes_do_not_write_at_once(tmp_path):
    first = Journal(tmp_path / "out", SETTINGS)
    first.open(resume=False)
    with pytest.raises(OptionsError, match="another process is writing out"):
        Journal(tmp_path / "out", SETTINGS).open(resume=True)
    first.close()


def test_a_lock_that_is_removed_by_who_had_it_before_does_not_count(tmp_path, monkeypatch):
    """The folder of another process is removed between the opening of its lock and the locking."""
    acquire = FileLock.acquire

    def acquire_late(lock, exclusive, patience=0.0):
        taken = acquire(lock, exclusive, patience)
        next((folder_of(tmp_path / "out")).glob("lock")).unlink()
        return taken

    monkeypatch.setattr(FileLock, "acquire", acquire_late)
    with pytest.raises(OptionsError, match="another process is writing out"):
        Journal(tmp_path / "out", SETTINGS).open(resume=False)
    monkeypatch.undo()
    Journal(tmp_path / "out", SETTINGS).open(resume=False)


@pytest.mark.parametrize("damage", ["cut", "flipped", "swapped", "gone"])
def test_only_what_is_whole_and_follows_counts(damage, tmp_path):
    journal = Journal(tmp_path / "out", SETTINGS)
    journal.open(resume=False)
    for number in range(3):
        write_part(journal, number)
    (journal.folder / "00000003.part.tmp").write_bytes(b"half")
    journal.close()
    path = journal.folder / "00000001.part"
    content = bytearray(path.read_bytes())
    if damage == "cut":
        path.write_bytes(content[:-7])
    elif damage == "flipped":
        place = content.index(window().vectors.tobytes())
        content[place + 5] ^= 1
        path.write_bytes(content)
    elif damage == "swapped":
        path.write_bytes((journal.folder / "00000002.part").read_bytes())
    else:
        path.unlink()

    assert damage == "swapped" or damage == "gone" or read_summary(path) is None
    assert [part.number for part in Journal(tmp_path / "out", SETTINGS).open(resume=True)] == [0]
    assert sorted(file.name for file in journal.folder.iterdir()) == ["00000000.part", "lock", "settings.json"]


def test_damaged_settings_are_named(tmp_path):
    journal = Journal(tmp_path / "out", SETTINGS)
    journal.folder.mkdir()
    (journal.folder / "settings.json").write_text("{")
    with pytest.raises(FormatError, match="settings.json: .* expected the settings of a run. Delete the folder"):
        journal.open(resume=True)


def test_who_writes_is_told_before_what_is_unfinished(tmp_path):
    first = Journal(tmp_path / "out", SETTINGS)
    first.open(resume=False)
    with pytest.raises(OptionsError, match="another process is writing out"):  # and not: delete the folder
        Journal(tmp_path / "out", SETTINGS).open(resume=False)
    first.close()


@pytest.mark.parametrize("name", ["mine.txt", "my.tmp", "vectors.part"])
def test_a_folder_of_others_is_not_touched(name, tmp_path):
    journal = Journal(tmp_path / "out", SETTINGS)
    journal.folder.mkdir()
    (journal.folder / name).write_text("mine")
    with pytest.raises(OptionsError, match=f"has '{name}' in it, which no run wrote"):
        journal.open(resume=False)
    assert (journal.folder / name).read_text() == "mine"

    (journal.folder / name).unlink()
    journal.open(resume=False)
    (journal.folder / name).write_text("mine")
    journal.close()
    journal.open(resume=True)
    journal.unfinished_output.write_text("new")
    journal.finish()
    assert [path.name for path in journal.folder.iterdir()] == [name]


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    folder_of(tmp_path / "out").write_text("mine")
    with pytest.raises(OptionsError, match="out.unfinished: is a file, expected the folder of the run"):
        Journal(tmp_path / "out", SETTINGS).open(resume=False)


def test_remains_are_removed_unless_another_run_has_begun(tmp_path):
    journal = Journal(tmp_path / "out", SETTINGS)
    journal.remove_remains()  # nothing there
    journal.folder.mkdir()
    (journal.folder / "00000000.part").write_bytes(b"left")
    journal.remove_remains()
    assert not journal.folder.exists()

    other = Journal(tmp_path / "out", SETTINGS)
    other.open(resume=False)
    journal.remove_remains()
    assert other.is_begun
    other.close()


def test_a_link_is_followed(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk" / "vectors")
    journal = Journal(tmp_path / "out", SETTINGS)
    journal.open(resume=False)
    assert journal.folder == tmp_path / "disk" / "vectors.unfinished" == folder_of(tmp_path / "out")
    journal.unfinished_output.write_text("new")
    journal.finish()

    assert (tmp_path / "out").is_symlink() and (tmp_path / "disk" / "vectors").read_text() == "new"


def test_the_output_takes_its_place(tmp_path):
    (tmp_path / "out").write_text("old")
    journal = Journal(tmp_path / "out", SETTINGS)
    journal.open(resume=False)
    journal.unfinished_output.write_text("new")
    assert (tmp_path / "out").read_text() == "old"
    journal.finish()

    assert (tmp_path / "out").read_text() == "new"
    assert not folder_of(tmp_path / "out").exists()
