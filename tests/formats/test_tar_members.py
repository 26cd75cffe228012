"""Archives that tarfile itself does not survive."""

import io
import lzma
import tarfile
from pathlib import Path

import numpy as np
import pytest

from elmo_plugin.engine.errors import FormatError
from elmo_plugin.formats.tar_members import is_tar, read_member, take_out


def write(path, weights=b"x" * 3000, **headers):
    """Two members; the second has these headers."""
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name, content, extra in (("config.json", b"{}", {}), ("weights.th", weights, headers)):
            member = tarfile.TarInfo(name)
            member.size, member.pax_headers = len(content), extra
            archive.addfile(member, io.BytesIO(content))
    return path


def test_members(tmp_path):
    path = write(tmp_path / "a")
    take_out(path, {"weights.th": tmp_path / "w"}, "a")

    assert is_tar(path) and (tmp_path / "w").read_bytes() == b"x" * 3000
    assert read_member(path, "config.json", 10) == b"{}" and read_member(path, "other", 10) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"GNU.sparse.map": "a,b"},
        {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"},
        {"GNU.sparse.size": "many"},
        {"GNU.sparse.realsize": "many"},
    ],
    ids=str,
)
def test_headers_that_are_no_numbers(headers, tmp_path):
    path = write(tmp_path / "a", **headers)
    with pytest.raises(FormatError, match="a: damaged archive"):
        take_out(path, {"weights.th": tmp_path / "w"}, "a")
    with pytest.raises(FormatError, match="a: damaged archive"):
        read_member(path, "weights.th", 10)


def test_damage_in_another_compression(tmp_path):
    noise = np.random.RandomState(0).bytes(200_000)
    with lzma.open(tmp_path / "a", "wb") as target, tarfile.open(fileobj=target, mode="w") as archive:
        member = tarfile.TarInfo("weights.th")
        member.size = len(noise)
        archive.addfile(member, io.BytesIO(noise))
    content = bytearray((tmp_path / "a").read_bytes())
    content[len(content) // 2] ^= 0x55
    (tmp_path / "a").write_bytes(content)
    assert is_tar(tmp_path / "a")
    with pytest.raises(FormatError, match="a: damaged archive"):
        take_out(tmp_path / "a", {"weights.th": tmp_path / "w"}, "a")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_no_damage(tmp_path):
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device"):
        take_out(write(tmp_path / "a"), {"weights.th": tmp_path / "full"}, "a")
