"""Whole runs of pre-training: `allennlp train`, `evaluate`, `--recover`, and the biLM of the archive as an embedder."""

import copy
import gzip
import json
import re
from pathlib import Path

import pytest
import torch

pytest.importorskip("allennlp")
pytest.importorskip("elmo_plugin")

from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.data import TokenIndexer, Vocabulary
from allennlp.data.batch import Batch
from allennlp.data.fields import TextField
from allennlp.data.instance import Instance
from allennlp.data.tokenizers import Token
from allennlp.models.archival import load_archive
from allennlp.modules.elmo import Elmo
from allennlp.modules.token_embedders import TokenEmbedder
from allennlp.training.callbacks import TrainerCallback

from elmo_plugin.formats import read_weights

EXPERIMENTS = Path(__file__).parent.parent / "experiments" / "pretraining"


class Interrupted(Exception):
    """Stands for a power cut."""


@TrainerCallback.register("elmo_test_interrupt")
class Interrupt(TrainerCallback):
    """Ends the training in the middle of its second epoch, once."""

    armed = False
    losses = []

    def on_batch(self, trainer, batch_inputs, batch_outputs, batch_metrics, epoch, batch_number, **kwargs):
        Interrupt.losses.append(float(batch_outputs[0]["loss"].detach()))
        if Interrupt.armed and (epoch, batch_number) == (1, 5):
            Interrupt.armed = False
            raise Interrupted()


@pytest.fixture(autouse=True, scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lm")
    random = torch.Generator().manual_seed(0)
    for name, count in (("train-0", 60), ("train-1", 60), ("heldout", 20)):
        with gzip.open(folder / f"{name}.txt.gz", "wt") as out:
            for _ in range(count):
                print(*(f"w{int(i)}" for i in torch.randint(0, 40, (5,), generator=random)), file=out)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LM_DATA", str(folder))
        yield folder


@pytest.fixture(scope="module")
def tiny_run(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("tiny") / "run"
    board = {"type": "tensorboard", "summary_interval": 1, "should_log_learning_rate": True}
    parameters = Params.from_file(str(EXPERIMENTS / "tiny.jsonnet")).as_dict(quiet=True)
    parameters["trainer"]["callbacks"].append(board)
    train_model(Params(parameters), str(folder))
    return folder


def test_trains_and_reports_heldout_perplexity(tiny_run):
    metrics = json.loads((tiny_run / "metrics.json").read_text())

    assert 1 < metrics["best_validation_perplexity"] < 60
    assert metrics["validation_tokens"] == 20 * 6
    assert {"training_sampled_loss_forward", "training_sampled_loss_backward"} <= set(metrics)
    assert not [name for name in metrics if name.startswith("training_perplexity")]


def test_tensorboard_shows_both_directions(tiny_run):
    logs = {name: (tiny_run / "log" / name).iterdir() for name in ("train", "validation")}
    written = {name: b"".join(path.read_bytes() for path in paths) for name, paths in logs.items()}

    assert b"sampled_loss_forward" in written["train"] and b"sampled_loss_backward" in written["train"]
    assert b"learning_rate" in written["train"] and b"perplexity" not in written["train"]
    assert b"perplexity_forward" in written["validation"]


def test_weights_are_written_at_the_end(tiny_run):
    """For AllenNLP's own Elmo and bilm-tf, with a card; and from any checkpoint on demand."""
    expected, found = read_weights(tiny_run / "model.tar.gz"), read_weights(tiny_run / "bilm")
    later = read_weights(tiny_run / "model_state_e2_b0.th")

    assert found.vocabulary == later.vocabulary == expected.vocabulary
    for name, tensor in expected.everything().items():
        assert found.everything()[name].equal(tensor), name
    assert later.everything().keys() == expected.everything().keys()
    Elmo(str(tiny_run / "bilm" / "options.json"), str(tiny_run / "bilm" / "weights.hdf5"), 1)
    perplexity = json.loads((tiny_run / "metrics.json").read_text())["best_validation_perplexity"]
    assert f"| perplexity | {perplexity:.4f} |" in (tiny_run / "bilm" / "README.md").read_text()


def test_archive_is_evaluated(tiny_run, data):
    metrics = json.loads((tiny_run / "metrics.json").read_text())
    found = evaluate_from_archive(str(tiny_run / "model.tar.gz"), str(data / "heldout.txt.gz"))

    assert found["perplexity"] == pytest.approx(metrics["best_validation_perplexity"], rel=1e-5)
    assert found["tokens"] == 20 * 6


def test_archive_is_evaluated_on_other_text(tiny_run, data):
    cut = {"validation_dataset_reader.max_sentences": 100, "validation_data_loader.batch_size": 7}
    found = evaluate_from_archive(
        str(tiny_run / "model.tar.gz"), str(data / "train-*.txt.gz"), cmd_overrides=json.dumps(cut)
    )

    assert found["tokens"] == 100 * 6


@pytest.fixture
def no_data(data):
    away = data.with_name("away")
    data.rename(away)
    yield
    away.rename(data)


def test_archive_is_a_source_of_weights(tiny_run, no_data):
    """Train the language model, archive it, use it as an embedder; the text may be gone by then."""
    model = load_archive(tiny_run / "model.tar.gz").model
    weights = read_weights(str(tiny_run / "model.tar.gz"))
    embedder = TokenEmbedder.from_params(Params({"type": "elmo", "weights": str(tiny_run / "model.tar.gz")}))
    indexer = TokenIndexer.from_params(Params({"type": "elmo"}))
    field = TextField([Token("w1"), Token("new")], {"elmo": indexer})
    batch = Batch([Instance({"text": field})])
    batch.index_instances(Vocabulary())

    assert weights.vocabulary == model.words
    for name, tensor in model.bilm.state_dict().items():
        assert weights.tensors[name].equal(tensor), name
    assert weights.softmax["weight"].equal(model.softmax.weight)
    assert embedder(**batch.as_tensor_dict()["text"]["elmo"]).shape == (1, 2, 32)


def test_training_goes_on_from_an_archive(tiny_run, tmp_path):
    """A second training with a schedule of its own, through AllenNLP's `from_archive`."""
    before = json.loads((tiny_run / "metrics.json").read_text())["best_validation_perplexity"]
    overrides = json.dumps({"trainer.num_epochs": 1, "trainer.optimizer.lr": 1e-5, "data_loader.seed": 7})
    parameters = Params.from_file(str(EXPERIMENTS / "tiny.jsonnet"), overrides)
    parameters["model"] = {"type": "from_archive", "archive_file": str(tiny_run / "model.tar.gz")}
    train_model(parameters, str(tmp_path / "run"))
    after = json.loads((tmp_path / "run" / "metrics.json").read_text())["best_validation_perplexity"]

    assert after == pytest.approx(before, rel=0.01)


def test_recovery_goes_on_from_the_checkpoint(tmp_path):
    """With AllenNLP's own checkpointer: all but the random numbers comes back (see tests/checkpointers)."""

    def parameters():
        loaded = Params.from_file(str(EXPERIMENTS / "tiny.jsonnet")).as_dict(quiet=True)
        loaded["trainer"]["callbacks"] = [{"type": "elmo_test_interrupt"}]
        loaded["trainer"]["checkpointer"] = {"type": "default", "save_every_num_batches": 1}
        loaded["model"].update(dropout=0.0, n_negative_samples=None)
        return Params(loaded)

    Interrupt.losses, Interrupt.armed = [], False
    train_model(parameters(), str(tmp_path / "whole"))
    whole = Interrupt.losses
    Interrupt.losses, Interrupt.armed = [], True
    with pytest.raises(Interrupted):
        train_model(parameters(), str(tmp_path / "pieces"))
    done = len(Interrupt.losses) - 1  # the last batch was not in a checkpoint yet
    Interrupt.losses = Interrupt.losses[:done]
    train_model(parameters(), str(tmp_path / "pieces"), recover=True)

    assert 0 < done < len(whole)
    assert Interrupt.losses == pytest.approx(whole, rel=1e-6)


def test_a_training_that_diverges_names_a_checkpoint_to_begin_from(tmp_path):
    parameters = Params.from_file(str(EXPERIMENTS / "tiny.jsonnet")).as_dict(quiet=True)
    parameters["trainer"]["checkpointer"] = {"type": "elmo", "save_every_num_batches": 1}
    wild = copy.deepcopy(parameters)
    wild["trainer"].update(optimizer={"type": "sgd", "lr": 1e20}, grad_norm=False)
    with pytest.raises(FloatingPointError, match="(loss is|hold a) .*last good checkpoint is ") as caught:
        train_model(Params(wild), str(tmp_path / "wild"))
    (good,) = re.findall(r"checkpoint is (\S+\.th|none)", str(caught.value))
    assert good == "none" or torch.isfinite(torch.load(good)["softmax.weight"]).all()

    parameters["trainer"]["num_epochs"] = 1
    train_model(Params(copy.deepcopy(parameters)), str(tmp_path / "calm"))
    checkpoint = str(tmp_path / "calm" / "model_state_e1_b0.th")
    del parameters["model"]["options"]
    parameters["model"]["weights"] = checkpoint
    train_model(Params(parameters), str(tmp_path / "again"))
    first = json.loads((tmp_path / "calm" / "metrics.json").read_text())["best_validation_perplexity"]
    assert json.loads((tmp_path / "again" / "metrics.json").read_text())["best_validation_perplexity"] < first * 1.05


def test_gradients_are_accumulated(tmp_path):
    """Seven batches are three steps of at most three; the streams go on from batch to batch."""
    overrides = {
        "trainer.num_epochs": 1,
        "trainer.num_gradient_accumulation_steps": 3,
        "data_loader.batches_per_epoch": 7,
    }
    train_model(Params.from_file(str(EXPERIMENTS / "tiny.jsonnet"), json.dumps(overrides)), str(tmp_path / "run"))
    model, training = (torch.load(tmp_path / "run" / f"{kind}_state_e1_b0.th") for kind in ("model", "training"))

    assert {float(state["step"]) for state in training["optimizer"]["state"].values()} == {3.0}
    assert int(model["streams.steps"]) == 7


@pytest.mark.parametrize("name", ["builtin", "tiny", "words"])
def test_configuration_builds(name, tmp_path):
    overrides = {"model.n_negative_samples": 8}
    parameters = Params.from_file(str(EXPERIMENTS / f"{name}.jsonnet"), json.dumps(overrides))
    train_model(parameters, str(tmp_path / "run"), dry_run=True)


@pytest.mark.slow
def test_two_processes(tmp_path):
    """Each process reads its share, and metrics are of all the text, also where one has more of it than the other."""
    (tmp_path / "heldout").write_text("w1 w2 w3 w4 w5\n" * 7)
    parameters = Params.from_file(str(EXPERIMENTS / "tiny.jsonnet")).as_dict(quiet=True)
    parameters["distributed"] = {"cuda_devices": [-1, -1]}
    parameters["trainer"]["checkpointer"] = {"type": "elmo", "save_every_num_batches": 3}  # by time in one process
    parameters["validation_data_path"] = str(tmp_path / "heldout")
    parameters["validation_data_loader"]["batch_size"] = 1
    train_model(Params(parameters), str(tmp_path / "run"), include_package=["elmo_plugin"])
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())

    assert metrics["validation_tokens"] == 7 * 6
    assert 1 < metrics["best_validation_perplexity"] < 60
