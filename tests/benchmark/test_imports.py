"""What the benchmark imports beyond the engine it imports where it is used, so that a GPU machine needs no AllenNLP."""

import pytest

from tests.test_architecture import PACKAGE, imports, source_id

SOURCES = sorted((PACKAGE / "benchmark").rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=source_id)
def test_module_level_imports(path):
    allowed = ("elmo_plugin.benchmark", "elmo_plugin.engine", "elmo_plugin.__")
    for name, line, at_module_level in imports(path):
        if at_module_level and name.startswith("elmo_plugin."):
            assert name.startswith(allowed), f"{source_id(path)}:{line}"
        if at_module_level:
            assert name.partition(".")[0] not in {"allennlp", "h5py", "matplotlib"}, f"{source_id(path)}:{line}"


def test_there_are_modules():
    assert len(SOURCES) > 10
