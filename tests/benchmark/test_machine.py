import json
import subprocess
from pathlib import Path

import pytest
import torch

from elmo_plugin.benchmark import machine

CPU = torch.device("cpu")


def test_description_fits_into_json_and_holds_no_path():
    found = machine.describe(CPU)

    text = json.dumps(found, allow_nan=False)
    assert str(Path.home()) not in text and str(Path.cwd()) not in text
    assert found["packages"]["torch"] == torch.__version__
    assert found["cores"] >= 1 and found["cpu"]


def test_commit_of_the_checkout():
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        pytest.skip("not a checkout")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True).stdout

    assert machine.describe(CPU)["commit"].replace("-dirty", "") == head.strip()


def make_checkout(folder):
    """Commit all that is there."""
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *command], cwd=folder, check=True)


@pytest.mark.parametrize(
    "changed,is_dirty",
    [
        ("elmo_plugin/__init__.py", True),
        ("experiments/a.jsonnet", True),
        ("experiments/new.jsonnet", True),
        ("experiments/results/table1.md", False),
        ("README.md", False),
        (None, False),
    ],
)
def test_what_makes_a_commit_dirty(changed, is_dirty, tmp_path, monkeypatch):
    """Package and experiments, from which results come; not the results, nor documents."""
    for name in ("elmo_plugin/__init__.py", "experiments/a.jsonnet", "experiments/results/table1.md", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("old")
    make_checkout(tmp_path)
    if changed is not None:
        (tmp_path / changed).write_text("new")
    monkeypatch.setattr(machine.elmo_plugin, "__file__", str(tmp_path / "elmo_plugin" / "__init__.py"))

    assert machine.commit().endswith("-dirty") == is_dirty


def test_a_package_without_experiments_has_a_commit(tmp_path, monkeypatch):
    """As where the package's folder is itself a checkout."""
    (tmp_path / "__init__.py").write_text("")
    make_checkout(tmp_path)
    monkeypatch.setattr(machine.elmo_plugin, "__file__", str(tmp_path / "__init__.py"))

    assert len(machine.commit()) == 40


def test_a_package_inside_another_repository_has_no_commit_of_its_own(tmp_path, monkeypatch):
    """As in the environment of a project."""
    (tmp_path / ".gitignore").write_text("lib/")
    make_checkout(tmp_path)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").write_text("")
    monkeypatch.setattr(machine.elmo_plugin, "__file__", str(tmp_path / "lib" / "__init__.py"))

    assert machine.commit() is None


def test_without_git(monkeypatch):
    monkeypatch.setenv("PATH", "")

    assert machine.describe(CPU)["commit"] is None


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="not Linux")
def test_memory_is_known_on_linux():
    assert machine.available_memory(CPU) > 2**20


def test_memory_that_pytorch_keeps_can_be_had_too(monkeypatch):
    """Else a case after a large one would be refused on a GPU."""
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1000, 9000))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 500)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 200)

    assert machine.available_memory(torch.device("cuda")) == 1300


def test_cache():
    found = machine.last_level_cache(CPU)

    assert found is None or found > 2**10


def test_a_commit_for_people():
    assert machine.short("0123456789ab") == "012345678" and machine.short("0123456789ab-dirty") == "012345678-dirty"
