from pathlib import Path

import pytest

from elmo_plugin.engine.errors import WeightFileError
from elmo_plugin.formats.sources import files_of, locate, locate_pair
from tests import tiny
from tests.formats import bundles, many_langs


def test_paths(tmp_path):
    options_file, weight_file = tiny.write(tmp_path / "a")
    index = bundles.write_checkpoint(tmp_path / "b")

    assert locate(tmp_path / "a") == (None, tmp_path / "a" / "weights.hdf5")
    assert locate(weight_file) == (None, tmp_path / "a" / "weights.hdf5")
    assert locate(str(tmp_path / "b" / "model.ckpt-0")) == (None, index)
    assert locate_pair(options_file, tmp_path / "b") == (tmp_path / "a" / "options.json", index)
    assert locate_pair("~/o.json", weight_file)[0].is_absolute()


def test_nothing_there(tmp_path):
    with pytest.raises(WeightFileError, match="nowhere: no such file or folder, and not one of the names"):
        locate(tmp_path / "nowhere")
    with pytest.raises(WeightFileError, match="nowhere: no such file, expected the file with the weights"):
        locate_pair("o.json", tmp_path / "nowhere")


def test_files_of_a_biLM(tmp_path):
    options_file, weight_file = map(Path, tiny.write(tmp_path / "a"))
    (tmp_path / "a" / "x_options.json").write_text("{}")

    assert set(files_of(tmp_path / "a")) == {options_file, weight_file}
    assert set(files_of(weight_file, options_file)) == {options_file, weight_file}
    assert files_of("original") == files_of("https://example.org/x_weights.hdf5") == files_of(tmp_path / "none") == []
    index = bundles.write_checkpoint(tmp_path / "b")
    assert index in files_of(tmp_path / "b")
    data = index.with_name(index.stem + ".data-00000-of-00001")
    assert {index, data} <= set(files_of(tmp_path / "b")) & set(files_of(tmp_path / "b" / "model.ckpt-0"))


def test_files_of_a_folder_are_files(tmp_path):
    """What is written is compared with each of them, which a link to nothing does not allow."""
    folder = Path(many_langs.write(tmp_path / "m"))
    (folder / "link").symlink_to(tmp_path / "nowhere")
    (folder / "configs").mkdir(exist_ok=True)

    found = files_of(folder)
    assert folder / "encoder.pkl" in found and all(path.is_file() for path in found)
