"""What may import what, what the language level is, and where things are: checked on the source of every module."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Set, Tuple

import pytest

import elmo_plugin

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "elmo_plugin"
SOURCES = sorted(PACKAGE.rglob("*.py"))

COMPONENTS = set(elmo_plugin.COMPONENT_FOLDERS) - {"models", "commands"}
BELOW_COMPONENTS = {"engine", "formats", "corpus", "embedding", "adapters"}

# Which parts of elmo_plugin each part may import. Nothing imports the models but what stands above all components.
MAY_IMPORT: Dict[str, Set[str]] = {
    "engine": {"engine"},
    "formats": {"engine", "formats"},
    "corpus": {"engine", "corpus"},
    "embedding": {"engine", "formats", "embedding"},
    "elmo_embedder": {"engine", "formats", "embedding"},
    "neighbors": {"engine", "formats", "embedding", "neighbors"},
    "adapters": BELOW_COMPONENTS,
    # what is more than the engine only inside functions: see tests/benchmark
    "benchmark": {"engine", "formats", "token_indexers", "benchmark", "__init__"},
    **dict.fromkeys(COMPONENTS, BELOW_COMPONENTS | COMPONENTS),
    "models": BELOW_COMPONENTS | COMPONENTS | {"models"},
    "compat": set(),
    "__init__": {"compat"},
    "__main__": {"__init__", "commands"},  # of these only the constants: what it runs is AllenNLP's program
}
# Stand above everything else.
TOP = {"commands", "explorer", "probes", "reproduction", "demo", "drop_in"}
EVERYTHING = set(MAY_IMPORT) | TOP

# Other packages, anywhere in the part: None is any.
MAY_USE = {"engine": {"numpy", "torch"}, "corpus": {"numpy", "torch"}}
NO_ALLENNLP = {"formats", "embedding", "elmo_embedder", "neighbors"}
# Not installed with AllenNLP: never at module level, where a missing one would take the whole plugin away.
OPTIONAL = {
    "faiss",
    "lmdb",
    "triton",
    "tensorflow",
    "safetensors",
    "pyarrow",
    "pandas",
    "ray",
    "dash",
    "flask",
    "waitress",
}
# The formats are readable without them.
INSIDE_FUNCTIONS = {"formats": {"h5py"}, "embedding": {"h5py", "rich"}}


class Imported(NamedTuple):
    name: str
    line: int
    at_module_level: bool


def imports(path: Path) -> Iterator[Imported]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        names: List[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = [f"{module}.{alias.name}" for alias in node.names] if module == "elmo_plugin" else [module]
        for name in names:
            yield Imported(name, node.lineno, id(node) not in inside)


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].replace(".py", "")


def source_id(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


sources = pytest.mark.parametrize("path", SOURCES, ids=source_id)


@sources
def test_module_imports_only_downwards(path: Path) -> None:
    part = part_of(path)
    assert part in EVERYTHING, f"{part!r} is new: say in MAY_IMPORT what it may import"
    allowed = EVERYTHING if part in TOP else MAY_IMPORT[part]
    for name, line, _ in imports(path):
        root, _, rest = name.partition(".")
        if root == "elmo_plugin":
            imported = rest.split(".")[0] or "__init__"
            assert imported in allowed, (
                f"{source_id(path)}:{line}: {part} imports {name}; it may import {sorted(allowed)}"
            )


@sources
def test_module_uses_only_what_its_layer_may(path: Path) -> None:
    part = part_of(path)
    private = any(name.startswith("_") and name != "__init__.py" for name in path.relative_to(PACKAGE).parts)
    for name, line, at_module_level in imports(path):
        root, where = name.partition(".")[0], f"{source_id(path)}:{line}: imports {name}"
        if part in NO_ALLENNLP:
            assert not root.startswith("allennlp"), where
        if at_module_level and not private:
            assert root not in OPTIONAL | INSIDE_FUNCTIONS.get(part, set()), f"{where} at module level"
        if part in MAY_USE and not private and root not in {"elmo_plugin", *OPTIONAL}:
            assert root in MAY_USE[part] or root in standard_library(), where


def standard_library() -> Set[str]:
    if sys.version_info < (3, 10):
        pytest.skip("needs sys.stdlib_module_names")
    return set(sys.stdlib_module_names)


@sources
def test_module_is_valid_on_python_3_8(path: Path) -> None:
    # FromParams silently leaves a dict where an annotation is a string or `X | None`.
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
    assert [name for name, _, _ in imports(path) if name == "__future__"] == []
    for annotation in annotations(tree):
        for node in ast.walk(annotation):
            where = f"{source_id(path)}:{node.lineno}" if hasattr(node, "lineno") else ""
            assert not isinstance(node, ast.BinOp), f"{where}: Optional[...] or Union[...] in place of |"
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
                generic = node.value.id
                assert generic not in {"dict", "frozenset", "list", "set", "tuple", "type"}, f"{where}: {generic}[...]"


def annotations(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None:
            yield node.annotation
        elif isinstance(node, ast.AnnAssign):
            yield node.annotation
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
            yield node.returns


@pytest.mark.parametrize("folder", sorted({path.parent for path in SOURCES}), ids=source_id)
def test_folder_is_a_package(folder: Path) -> None:
    assert (folder / "__init__.py").exists(), "without it setup.py leaves the folder out"


TEST_FOLDERS = sorted({path.parent for path in (ROOT / "tests").rglob("test_*.py")} - {ROOT / "tests"})


@pytest.mark.parametrize("folder", TEST_FOLDERS, ids=source_id)
def test_test_folder_mirrors_a_source_folder(folder: Path) -> None:
    relative = folder.relative_to(ROOT / "tests")

    assert (PACKAGE / relative).is_dir() or (ROOT / relative).is_dir()


MODULES = [tuple(name.split(".")[1:]) for name in elmo_plugin.component_modules()]


@pytest.mark.parametrize("module", MODULES, ids="/".join)
def test_component_has_a_test_where_one_looks_for_it(module: Tuple[str, str]) -> None:
    folder, name = module

    assert (ROOT / "tests" / folder / f"test_{name}.py").exists()


@pytest.mark.parametrize("module", MODULES, ids="/".join)
def test_component_is_registered_by_the_name_of_its_file(module: Tuple[str, str]) -> None:
    bases = component_bases()
    folder, name = module
    registered = name.replace("_", "-") if folder == "commands" else name

    component, _ = bases[folder].resolve_class_name(registered)

    assert component.__module__ == f"elmo_plugin.{folder}.{name}"


def component_bases() -> Dict[str, type]:
    pytest.importorskip("allennlp")
    from allennlp import data, models, modules, predictors, training
    from allennlp.commands import Subcommand

    return {
        "token_indexers": data.TokenIndexer,
        "token_embedders": modules.TokenEmbedder,
        "seq2seq_encoders": modules.Seq2SeqEncoder,
        "vocabularies": data.Vocabulary,
        "dataset_readers": data.DatasetReader,
        "data_loaders": data.DataLoader,
        "models": models.Model,
        "predictors": predictors.Predictor,
        "callbacks": training.TrainerCallback,
        "checkpointers": training.Checkpointer,
        "commands": Subcommand,
    }


def run_without(blocked: List[str], code: str) -> None:
    block = f"import sys; sys.modules.update(dict.fromkeys({blocked!r}))\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", block + code], check=True, env=environment)


def test_engine_and_formats_import_with_torch_and_numpy_alone() -> None:
    run_without(
        [
            "allennlp",
            "allennlp_models",
            "h5py",
            "lmdb",
            "overrides",
            "safetensors",
            "tensorflow",
            "transformers",
            "triton",
        ],
        "import pkgutil, importlib, elmo_plugin.engine, elmo_plugin.formats\n"
        "for package in (elmo_plugin.engine, elmo_plugin.formats):\n"
        "    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        if '._' not in module.name: importlib.import_module(module.name)",
    )


def test_every_module_imports_without_optional_packages() -> None:
    """As `--include-package elmo_plugin` does it."""
    pytest.importorskip("allennlp")
    run_without(
        ["dash", "faiss", "flask", "pandas", "pyarrow", "ray", "tensorflow", "triton", "waitress"],
        "from allennlp.common.util import import_module_and_submodules; import_module_and_submodules('elmo_plugin')",
    )
