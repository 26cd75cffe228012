from types import SimpleNamespace

import pytest

from elmo_plugin.engine.errors import FormatError
from elmo_plugin.formats.unpacked_size import ALWAYS_ALLOWED, MAX_RATIO, check_size


def test_sizes(tmp_path, monkeypatch):
    packed = tmp_path / "packed"
    packed.write_bytes(bytes(ALWAYS_ALLOWED // MAX_RATIO * 2))
    size = packed.stat().st_size
    check_size(packed, MAX_RATIO * size, tmp_path)
    with pytest.raises(FormatError, match=f"packed: refused, because its {size} bytes would become"):
        check_size(packed, MAX_RATIO * size + 1, tmp_path)
    packed.write_bytes(b"")
    check_size(packed, ALWAYS_ALLOWED, tmp_path)

    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=10))
    with pytest.raises(FormatError, match="its content has 11 bytes, but only 10 are free"):
        check_size(packed, 11, tmp_path)
