"""
Every experiment is found, listed, evaluated, and trains on small data.

The cells of tables and figures are built and take two steps at both scales, each training once; one of each task is
trained, archived and loaded, and all of them where slow tests run.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Set, Tuple

import pytest
import torch

for part in ("classification", "coref", "pair_classification", "rc", "structured_prediction", "tagging"):
    pytest.importorskip(f"allennlp_models.{part}")

from allennlp.commands.train import TrainModel, train_model  # noqa: E402
from allennlp.common import Params  # noqa: E402
from allennlp.common.util import prepare_environment  # noqa: E402

from elmo_plugin.engine.scalar_mix import ScalarMix  # noqa: E402
from elmo_plugin.reproduction import items, outcome  # noqa: E402
from elmo_plugin.reproduction.cells import fingerprint  # noqa: E402
from tests.experiments import places, predictions  # noqa: E402

pytestmark = pytest.mark.usefixtures("data")

ROOT = Path(__file__).parent.parent.parent / "experiments"
CONFIGS = sorted(ROOT.rglob("*.jsonnet"))
CELLS = [path for path in CONFIGS if path.parent.name.startswith(("table", "figure"))]
configs = pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.relative_to(ROOT).as_posix())

READ_AT_ANY_SCALE = ("ner", "ner_task", "snli", "squad_contexts", "squad_questions", "srl")
SMALLER: Dict[str, Dict[str, Any]] = {
    **dict.fromkeys(
        ["bcn", "crf_tagger", "elmo_bcn", "elmo_layer_probe"],
        {"data_loader.batch_sampler.batch_size": 2, "trainer.num_epochs": 1},
    ),
    "elmo_language_model": {
        "data_loader.batch_size": 2,
        "data_loader.batches_per_epoch": 2,
        "validation_data_loader.batch_size": 2,
        "model.n_negative_samples": 5,
        "trainer.num_epochs": 1,
    },
}


def test_experiments_are_found() -> None:
    """An empty list would pass every other test."""
    assert len(CELLS) == 45 and len(CONFIGS) > len(CELLS)


def test_readme_lists_every_experiment() -> None:
    """And none that is not there."""
    listed = re.findall(r"`([\w/.]+\.jsonnet)`", (ROOT / "README.md").read_text(encoding="utf-8"))

    assert sorted(listed) == [path.relative_to(ROOT).as_posix() for path in CONFIGS]


@configs
def test_experiment_says_what_it_is(path: Path) -> None:
    """The first line is a comment, and nothing in it depends on this machine."""
    text = path.read_text(encoding="utf-8")

    assert text.startswith("// ")
    assert not re.search(r"https?://|/(?:home|root)/", text)


def others() -> Iterator[Any]:
    """Each experiment that is no cell; those that read the data of a task do so at any scale."""
    for path in CONFIGS:
        if path not in CELLS:
            for scale in ("small", "paper") if path.stem in READ_AT_ANY_SCALE else ("small",):
                yield pytest.param(path, scale, id=f"{path.relative_to(ROOT).as_posix()}-{scale}")


@pytest.mark.parametrize("path,scale", list(others()))
def test_experiment_trains_on_small_data(
    path: Path, scale: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `allennlp train` does it, data and steps cut down, and nothing else."""
    monkeypatch.setenv("SCALE", scale)
    params = Params.from_file(str(path))
    smaller = SMALLER[params["model"]["type"]]
    params = Params.from_file(str(path), params_overrides=json.dumps(smaller))

    assert train_model(params, str(tmp_path / "run")) is not None
    assert (tmp_path / "run" / "model.tar.gz").exists()


def test_what_was_learned_about_layers_is_read_in_another_process(tmp_path: Path) -> None:
    """As the demonstration does it: there, nothing has loaded the model's class before."""
    smaller = json.dumps(SMALLER["bcn"])
    train_model(Params.from_file(str(ROOT / "demo" / "elmo.jsonnet"), params_overrides=smaller), str(tmp_path / "run"))
    script = (
        "import pathlib, sys; from elmo_plugin.reproduction import outcome, training; "
        "print(outcome.collect(pathlib.Path(sys.argv[1]), with_mixes=True).mixes)"
    )

    command = [sys.executable, "-c", script, str(tmp_path / "run")]
    printed = subprocess.run(command, cwd=ROOT.parent, check=True, stdout=subprocess.PIPE, text=True).stdout

    assert "'gamma'" in printed and "'weights'" in printed


def cell_parameters(path: Path) -> Params:
    """A cell of a table, for one epoch."""
    content = Params.from_file(str(path)).as_dict(quiet=True)
    content["trainer"]["num_epochs"] = 1
    if content["dataset_reader"]["type"] == "fraction":
        content["dataset_reader"].update(fraction=0.9, seed=1)
    return Params(content)


@pytest.mark.parametrize("task", ["snli", "squad", "sst"])
def test_public_data_are_named_by_their_address(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests of the paper's scale fetch them, from files: a reader that opens an address as a file fails there."""
    monkeypatch.setenv("SCALE", "paper")
    content = cell_parameters(ROOT / "table1" / f"{task}_elmo.jsonnet")

    paths = [content[f"{part}_data_path"] for part in ("train", "validation", "test")]
    paths.append(content["model"]["text_field_embedder"]["token_embedders"]["words"]["pretrained_file"])
    assert all(path.startswith("https://") for path in paths)


def different_trainings() -> Iterator[Tuple[Path, str]]:
    """Cells and scales, each training once: the cells of several tables are partly the same."""
    seen = set()
    for scale in ("small", "paper"):
        variables = {"SCALE": scale, "BILM": "builtin", "DATA": "", "VECTORS": ""}
        for path in sorted(CELLS, key=lambda path: (path.parent.name != "table1", path)):
            name = fingerprint(path, variables)
            if name not in seen:
                yield path, scale
            seen.add(name)


TRAININGS = list(different_trainings())


def trainings(is_slow: Callable[[Path, str], bool]) -> Iterator[Any]:
    """The parameters of a test of all of them."""
    for path, scale in TRAININGS:
        marks = [pytest.mark.slow] if is_slow(path, scale) else []
        yield pytest.param(path, scale, id=f"{path.parent.name}/{path.stem}-{scale}", marks=marks)


def is_slow_to_step(path: Path, scale: str) -> bool:
    """Not those of table 1, nor the small ones of the other tables."""
    return path.parent.name == "figure1" or (scale == "paper" and path.parent.name != "table1")


def is_slow_to_train(path: Path, scale: str) -> bool:
    """Not one of each task."""
    return scale == "paper" or path.parent.name != "table1" or not path.stem.endswith("_elmo")


@pytest.mark.parametrize("path,scale", list(trainings(is_slow_to_step)))
def test_cell_trains_two_steps(path: Path, scale: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Every parameter that trains gets a gradient, and one that is not zero; each pattern of initializers and penalties is
    of some parameter: AllenNLP says nothing of one that is of none.
    """
    monkeypatch.setenv("SCALE", scale)
    params = cell_parameters(path)
    kind, patterns = params["model"]["type"], list(patterns_in(params["model"].as_dict(quiet=True)))
    if kind == "sentence_coref":  # of nine words three spans are kept: of one word each, they have no choice of a head
        params["model"]["spans_per_word"] = 1.0
    prepare_environment(params)
    training = TrainModel.from_params(params=params, serialization_dir=str(tmp_path / "run"), local_rank=0)
    model, trainer = training.model.train(), training.trainer
    unseen = UNSEEN_BY_THE_LOSS.get(kind, set())
    names = {name for name, _ in model.named_parameters()}
    batch = next(iter(trainer.data_loader))
    losses = []
    for _ in range(2):
        trainer.optimizer.zero_grad()
        loss = model(**batch)["loss"] + (model.get_regularization_penalty() or 0.0)
        loss.backward()
        losses.append(loss)
        assert set(without_gradient(model)) <= unseen | weights_of_single_layers(model)
        trainer.rescale_gradients()
        trainer.optimizer.step()

    assert torch.isfinite(torch.stack(losses)).all()
    assert unseen <= names
    assert [pattern for pattern in patterns if not any(re.search(pattern, name) for name in names)] == []


def patterns_in(value: Any) -> Iterator[str]:
    """The regular expressions for names of parameters in a configuration."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if key == "regexes":
            yield from (pattern for pattern, _ in inner)
        elif isinstance(inner, (dict, list)):
            yield from patterns_in(inner)


def without_gradient(model: torch.nn.Module) -> List[str]:
    """The parameters that train and got no gradient, or zeros alone."""
    return [
        name
        for name, value in model.named_parameters()
        if value.requires_grad and (value.grad is None or not value.grad.any())
    ]


def weights_of_single_layers(model: torch.nn.Module) -> Set[str]:
    """Where the last layer alone is taken its share is 1, whatever its weight."""
    mixes = (item for item in model.named_modules() if isinstance(item[1], ScalarMix))
    return {f"{name}.weights" for name, mix in mixes if len(mix.weights) == 1}


#: by the model's type: what is added to all scores of a softmax, whose gradient is therefore zero (or a rounding error)
UNSEEN_BY_THE_LOSS = {
    "bcn": {"_self_attentive_pooling_projection.bias"},
    # that of the attention to itself is not among them: it competes with attending to nothing
    "bidaf_self_attention": {"_attention._bias", "_span_start_scorer.bias", "_span_end_scorer.bias"},
    "elmo_bcn": {"_self_attentive_pooling_projection.bias"},
    "sentence_coref": {"_attentive_span_extractor._extractor._global_attention._scorer.bias"},
}


def test_gradients_of_zero_are_noticed() -> None:
    """A branch that is cut off, one that is multiplied by zero, and one that does not train."""
    model = torch.nn.ModuleDict({name: torch.nn.Linear(2, 1) for name in ("used", "zero", "cut", "frozen")})
    model["frozen"].requires_grad_(False)
    inputs = torch.ones(1, 2)

    (model["used"](inputs) + 0.0 * model["zero"](inputs)).sum().backward()

    assert without_gradient(model) == ["zero.weight", "zero.bias", "cut.weight", "cut.bias"]


#: how many items the test part of each task has
NUMBERS = {"coref": 1, "ner": 2, "snli": 3, "squad": 3, "srl": 2, "sst": 4}


@pytest.mark.parametrize("path,scale", list(trainings(is_slow_to_train)))
def test_cell_trains_saves_and_loads(
    path: Path, scale: str, spacy_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    As `allennlp train` does it; what was archived scores the items again as it did, one by one, and predicts.
    """
    monkeypatch.setenv("SCALE", scale)
    task = path.stem.partition("_")[0]
    params = cell_parameters(path)
    if places.places(path):
        # Carried, as at the paper's scale, it would let an answer depend on what was read before: one of three is many
        # points, and items that differ by so many are refused.
        params["model"]["text_field_embedder"]["token_embedders"]["bilm"]["state"] = "reset"
    train_model(params, str(tmp_path / "run"))

    result = outcome.collect(tmp_path / "run")
    for split in ("test", "development"):
        found = items.evaluate(tmp_path / "run", split)
        assert found.corpus_score() == pytest.approx(result.score(split), abs=1e-6)
        # the one development pair is the last tenth of three
        expected = 1 if (task, scale, split) == ("snli", "small", "development") else NUMBERS[task]
        assert len(found.numbers) == expected + (task == "coref" and scale == "paper")
        assert 0 < found.parameters["trained"] < found.parameters["all"] or not places.places(path)
        assert [mix["place"] for mix in found.mixes] == places.places(path)
    predictions.check(task, tmp_path / "run" / outcome.ARCHIVE, spacy_model)
