import re
from pathlib import Path

from elmo_plugin.formats import read_weights
from tests import tiny

DOCUMENT = Path(__file__).parents[2] / "docs" / "weights.md"


def test_the_examples_run(tmp_path, monkeypatch):
    tiny.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    exec("\n".join(blocks), {})

    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert {"mine.safetensors", "export/elmo_options.json", "tuned/options.json"} <= written
    assert read_weights("tuned").options == read_weights("export").options
