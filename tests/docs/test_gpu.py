import re
from dataclasses import asdict
from pathlib import Path

from elmo_plugin.engine.backends.cuda import CudaSettings
from elmo_plugin.engine.backends.cuda.settings import STEPS

TEXT = (Path(__file__).parents[2] / "docs" / "gpu.md").read_text(encoding="utf-8")


def test_python_works_as_it_stands():
    """On the CPU; the backend itself is tested elsewhere."""
    model, settings = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names: dict = {}
    exec(model.replace('"cuda"', '"cpu"'), names)
    assert names["layers"].shape == (3, 1, 6, 256)

    exec(settings, names)
    try:
        assert names["cuda"].configure() == CudaSettings(steps="torch", max_graphs=0)
    finally:
        names["cuda"].configure(**asdict(CudaSettings()))


def test_tables_name_all_settings_with_their_defaults_and_all_steps():
    defaults = {name: f'"{value}"' if name == "steps" else str(value) for name, value in asdict(CudaSettings()).items()}
    rows = dict(re.findall(r"^\| `(\w+)` \| `?(.+?)`? \|", TEXT, re.MULTILINE))

    assert rows == defaults
    assert {*re.findall(r'^\| `"(\w+)"` \|', TEXT, re.MULTILINE), "auto"} == set(STEPS)


def test_links_lead_somewhere():
    links = [link for link in re.findall(r"\]\(([^)#]+)", TEXT) if "://" not in link]

    assert links
    assert [link for link in links if not (Path(__file__).parents[2] / "docs" / link).exists()] == []
