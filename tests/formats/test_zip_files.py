import errno
import io
import stat
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elmo_plugin.engine.errors import EngineError, FormatError, OptionsError, WeightFileError
from elmo_plugin.formats import read_options, read_pair, read_weights, unpacked_size, write_weights, zip_files
from tests import tiny
from tests.formats import bundles
from tests.formats.strategies import assert_same_bits


def pack(target, folder, prefix="", compression=zipfile.ZIP_DEFLATED):
    """Zip the files of a folder."""
    with zipfile.ZipFile(target, "w", compression) as file:
        for path in sorted(folder.rglob("*")):
            file.write(path, f"{prefix}{path.relative_to(folder)}")
    return target


def nlpl(folder, **changes):
    """What the NLPL repository packs: hdf5 under another name, options for training, the vocabulary, a description."""
    _, weight_file = tiny.write(folder, **changes)
    Path(weight_file).rename(folder / "model.hdf5")
    (folder / "vocab.txt").write_text("<S>\n</S>\n<UNK>\na\n")
    (folder / "meta.json").write_text('{"language": "nob"}')
    (folder / "README").write_text("ELMo")
    return folder


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """An empty folder in place of the system's folder for temporary files, which must be empty again at the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("prefix", ["", "182/", "a/b/"])
@pytest.mark.parametrize("count", [261, 262])
def test_nlpl(tmp_path, temporary, prefix, count):
    folder = nlpl(tmp_path / "a")
    text = (folder / "options.json").read_text().replace("262", str(count))
    (folder / "options.json").write_text(text)
    expected = read_pair(folder / "options.json", folder / "model.hdf5")
    packed = pack(tmp_path / "182.zip", folder, prefix)
    found = read_weights(packed)

    assert_same_bits(found.everything(), expected.everything())
    assert found.options == expected.options and found.source == str(packed)
    assert read_options(packed) == (expected.options, None)
    assert read_pair(folder / "options.json", packed).options == expected.options


def test_vocabulary_of_a_word_level_model(tmp_path, temporary):
    packed = pack(tmp_path / "x.zip", nlpl(tmp_path / "a", words=4))

    assert read_weights(packed).vocabulary == read_options(packed)[1] == ["<S>", "</S>", "<UNK>", "a"]


def test_other_formats_inside(tmp_path, temporary):
    expected = read_pair(*tiny.write(tmp_path / "a"))
    write_weights(expected, tmp_path / "b" / "x.safetensors")
    bundles.write_checkpoint(tmp_path / "c")
    for name in "bc":
        found = read_weights(pack(tmp_path / f"{name}.zip", tmp_path / name))
        assert_same_bits(found.everything(), expected.everything())


def test_the_checkpoint_beside_hdf5_weights_is_not_unpacked(tmp_path, temporary):
    folder = nlpl(tmp_path / "a")
    bundles.write_bundle(folder / "model.ckpt-1", bundles.variables(tiny.options()))
    (folder / "model.ckpt-1.meta").write_bytes(b"graph")
    with zip_files.unpacked(pack(tmp_path / "x.zip", folder)) as inside:
        names = sorted(path.name for path in inside.iterdir())

    assert names == ["README", "meta.json", "model.hdf5", "options.json", "vocab.txt"]


def test_errors_name_the_zip_file(tmp_path, temporary):
    folder = nlpl(tmp_path / "a")
    (folder / "options.json").write_text('{"lstm": 5}')
    packed = pack(tmp_path / "x.zip", folder)
    with pytest.raises(OptionsError, match=r"x\.zip: options\.json: key 'lstm' is 5"):
        read_weights(packed)
    (folder / "options.json").unlink()
    with pytest.raises(WeightFileError, match=r"x\.zip: model\.hdf5: an hdf5 weight file needs its options"):
        read_weights(pack(packed, folder))
    (folder / "model.hdf5").unlink()
    with pytest.raises(WeightFileError, match=r"x\.zip: no weights in this folder.*It holds README, meta\.json, vocab"):
        read_weights(pack(packed, folder))


@pytest.mark.parametrize(
    "name", ["../evil", "a/../../evil", "/etc/evil", "..\\evil", "C:evil", "a//b", "./a", "..", "a/./b"]
)
def test_paths_that_lead_out_are_refused(tmp_path, temporary, name):
    packed = pack(tmp_path / "x.zip", nlpl(tmp_path / "a"))
    with zipfile.ZipFile(packed, "a") as file:
        file.writestr(zipfile.ZipInfo(name), b"evil")
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(FormatError, match="x.zip: refused, because its member .* leads out of the folder"):
        read_weights(packed)
    assert sorted(tmp_path.rglob("*")) == before


def test_links_are_refused(tmp_path, temporary):
    link = zipfile.ZipInfo("options.json")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        file.writestr(link, "/etc/passwd")
    with pytest.raises(FormatError, match="refused, because its member 'options.json' is a link"):
        read_weights(tmp_path / "x.zip")


def test_bombs_are_refused_before_anything_is_written(tmp_path, temporary):
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("model.hdf5", bytes(unpacked_size.ALWAYS_ALLOWED + 1))
    with pytest.raises(
        FormatError, match=r"x\.zip: refused, because its \d+ bytes would become 16777217, more than 100"
    ):
        read_weights(tmp_path / "x.zip")


def test_a_member_that_lies_about_its_size(tmp_path, temporary):
    """No more is written than was declared, and then the checksum is wrong."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("model.hdf5", bytes(5_000_000))
    content = packed.getvalue().replace((5_000_000).to_bytes(4, "little"), (50).to_bytes(4, "little"))
    (tmp_path / "x.zip").write_bytes(content)
    with pytest.raises(FormatError, match=r"x\.zip: cannot be read as a zip file .Bad CRC-32"):
        read_weights(tmp_path / "x.zip")


def test_too_many_members_and_too_little_room(tmp_path, temporary, monkeypatch):
    packed = pack(tmp_path / "x.zip", nlpl(tmp_path / "a"))
    with monkeypatch.context() as context:
        context.setattr(zip_files, "MAX_MEMBERS", 4)
        with pytest.raises(FormatError, match="it has 5 members, expected at most 4"):
            read_weights(packed)
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=10))
    with pytest.raises(FormatError, match="bytes, but only 10 are free in .*temporary. Make room"):
        read_weights(packed)


def test_a_full_disk_is_no_damage(tmp_path, temporary, monkeypatch):
    packed = pack(tmp_path / "x.zip", nlpl(tmp_path / "a"))

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(OSError, match="No space left") as caught:
        read_weights(packed)
    assert not isinstance(caught.value, EngineError)


def test_a_password(tmp_path, temporary):
    packed = pack(tmp_path / "x.zip", nlpl(tmp_path / "a"))
    content = bytearray(packed.read_bytes())
    for start in range(len(content) - 4):
        if content[start : start + 4] == b"PK\x01\x02":
            content[start + 8] |= 1
    packed.write_bytes(content)
    with pytest.raises(FormatError, match="needs a password. Unpack it and name the folder"):
        read_weights(packed)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_damage_gives_our_error_or_the_same_weights(tmp_path, data):
    whole = tmp_path / "whole.zip"
    if not whole.exists():
        pack(whole, nlpl(tmp_path / "a", cells=2, projection=1, layers=1, words=4))
    content = bytearray(whole.read_bytes())
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(content)
    try:
        found = read_weights(damaged)
    except EngineError as error:
        assert "damaged.zip" in str(error)
    else:
        assert_same_bits(found.everything(), read_weights(whole).everything())
