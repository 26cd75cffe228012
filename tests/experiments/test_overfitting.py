"""The models of table 1 with ELMo learn a handful of items by heart: nothing in their way to the answers is broken."""

import shutil
from pathlib import Path
from typing import Any, Dict

import pytest

for part in ("classification", "coref", "pair_classification", "rc", "structured_prediction", "tagging"):
    pytest.importorskip(f"allennlp_models.{part}")

from allennlp.commands.train import train_model  # noqa: E402
from allennlp.common import Params  # noqa: E402

from elmo_plugin.reproduction import items, outcome  # noqa: E402
from tests.experiments import learnable_data  # noqa: E402

TABLE = Path(__file__).parent.parent.parent / "experiments" / "table1"


def without_dropout(value: Any) -> Any:
    """Set every dropout of a configuration to zero."""
    if isinstance(value, dict):
        return {key: zero(inner) if "dropout" in key else without_dropout(inner) for key, inner in value.items()}
    return [without_dropout(inner) for inner in value] if isinstance(value, list) else value


def zero(rate: Any) -> Any:
    """One rate, or one for each layer."""
    return [0.0] * len(rate) if isinstance(rate, list) else 0.0


def by_heart(task: str, path: str, epochs: int) -> Dict[str, Any]:
    """The cell of a task, to be trained on one file until it is known, and scored on the same."""
    content = Params.from_file(str(TABLE / f"{task}_elmo.jsonnet")).as_dict(quiet=True)
    content["model"] = without_dropout(content["model"])
    if content["dataset_reader"]["type"] == "fraction":
        content["dataset_reader"]["fraction"] = 1.0
    if task == "coref":
        # Of a document of 14 words five spans would be kept, and a mention that is not among them learns nothing.
        content["model"]["spans_per_word"] = 1.0
    content.update(train_data_path=path, validation_data_path=path, test_data_path=path)
    sampler = content["data_loader"].get("batch_sampler", {})
    if "batch_size" in sampler:
        sampler["batch_size"] = 5
    trainer = content["trainer"]
    trainer["num_epochs"] = epochs
    for stop in ("patience", "learning_rate_scheduler"):
        trainer.pop(stop, None)
    return content


@pytest.mark.slow
@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(
    "task,score,number,epochs",
    [
        ("coref", "coref_f1", 5, 30),
        ("ner", "f1-measure-overall", 10, 25),
        ("snli", "accuracy", 12, 40),
        ("squad", "em", 50, 14),
        pytest.param(
            *("srl", "f1-measure-overall", 10, 30),
            marks=pytest.mark.skipif(shutil.which("perl") is None, reason="srl-eval.pl needs Perl"),
        ),
        ("sst", "accuracy", 20, 15),
    ],
)
def test_cell_learns_by_heart(task: str, score: str, number: int, epochs: int, tmp_path: Path) -> None:
    """All answers right, but of questions two of fifty may be wrong; the archive finds them too."""
    path = learnable_data.write(task, tmp_path / "learnable")

    train_model(Params(by_heart(task, path, epochs)), str(tmp_path / "run"))

    metrics = outcome.collect(tmp_path / "run").metrics
    assert len(items.evaluate(tmp_path / "run", "test").numbers) == number
    assert metrics[f"test_{score}"] > (0.95 if task == "squad" else 0.99)
