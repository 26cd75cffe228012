"""One training step equals bilm-tf's: losses, gradients, last LSTM state and the weights behind Adagrad's step."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("allennlp")
h5py = pytest.importorskip("h5py")

from allennlp.data import Vocabulary  # noqa: E402

from elmo_plugin.corpus.streams import LazyBlock, stream_batches, to_tensors  # noqa: E402
from elmo_plugin.corpus.word_table import WordTable  # noqa: E402
from elmo_plugin.engine.lstm import LstmState  # noqa: E402
from elmo_plugin.engine.softmax import LanguageModelSoftmax  # noqa: E402
from elmo_plugin.formats import read_pair  # noqa: E402
from elmo_plugin.models.elmo_language_model import ElmoLanguageModel  # noqa: E402
from tests.models import bilm_tf_step as step  # noqa: E402

FOUND = np.load(Path(__file__).with_name("bilm_tf_step.npz"))


def write(folder, arrays):
    """An hdf5 file of bilm-tf's with its options."""
    folder.mkdir()
    (folder / "options.json").write_text(json.dumps(step.tiny.options(**step.SIZES)))
    with h5py.File(folder / "weights.hdf5", "w") as file:
        for name, array in arrays.items():
            file[name] = array
    return folder / "options.json", folder / "weights.hdf5"


def as_tensors(folder, kind):
    """What bilm-tf found for each weight, under the engine's names."""
    start = kind + "/"
    arrays = {name[len(start) :]: FOUND[name] for name in FOUND.files if name.startswith(start)}
    return read_pair(*write(folder, arrays)).everything()


@pytest.fixture
def model(tmp_path):
    _, weights, _ = step.start()
    write(tmp_path / "start", weights)
    vocab = Vocabulary(non_padded_namespaces=["elmo_lm"], tokens_to_add={"elmo_lm": step.WORDS})
    return ElmoLanguageModel(
        vocab,
        weights=str(tmp_path / "start"),
        n_negative_samples=step.NEGATIVES,
        dropout=0.0,
        loss_scale=step.UNROLL_SCALE,
    )


def run(model, kind, monkeypatch):
    """One batch from bilm-tf's text and first state, with its negatives."""
    samples = [(torch.from_numpy(words), int(count)) for words, count in zip(FOUND["negatives"], FOUND["draws"])]

    def one_after_the_other(self, hidden, targets, weights):
        """bilm-tf draws for each direction; here the model draws once for both."""
        halves = zip(hidden.chunk(2), targets.chunk(2), weights.chunk(2), samples)
        found = [sampled(self, *half) for half in halves]
        return found[0].total + found[1].total, torch.cat([one.per_token for one in found])

    sampled = LanguageModelSoftmax.sampled
    replacement = one_after_the_other
    if kind == "full":
        replacement = LanguageModelSoftmax.full
    monkeypatch.setattr(LanguageModelSoftmax, "sampled", replacement)
    table = WordTable({word: index for index, word in enumerate(step.WORDS)}, step.CHARACTERS)
    (batch,) = stream_batches(LazyBlock(step.TEXT, table).sentences(), step.ROWS, step.STEPS)
    _, _, state = step.start()
    layers = range(2)
    model.streams.put(
        True,
        LstmState(
            hidden=torch.stack([torch.cat([torch.from_numpy(state[d, i][1]) for d in range(2)], 1) for i in layers]),
            cell=torch.stack([torch.cat([torch.from_numpy(state[d, i][0]) for d in range(2)], 1) for i in layers]),
        ),
    )
    loss = model.train()(**to_tensors(batch, table))["loss"]
    loss.backward()
    return loss


@pytest.mark.parametrize("kind", ["full", "sampled"])
def test_losses_and_gradients(model, kind, monkeypatch, tmp_path):
    loss = run(model, kind, monkeypatch)
    metrics = model.get_metrics()
    expected = as_tensors(tmp_path / "gradients", f"{kind}/gradient")

    assert float(loss.detach()) / step.UNROLL_SCALE == pytest.approx(float(FOUND[f"{kind}/total"]), abs=1e-5)
    for index, name in enumerate(("forward", "backward")):
        assert metrics[f"sampled_loss_{name}"] == pytest.approx(float(FOUND[f"{kind}/losses"][index]), abs=1e-5)
    for name, parameter in named(model):
        gradient = expected[name]
        if name.endswith("bias") and "lstm." in name:
            cells = len(gradient) // 4
            gradient[cells : 2 * cells] -= 1  # what reading a file adds to the bias of the forget gate
        torch.testing.assert_close(parameter.grad / step.UNROLL_SCALE, gradient, rtol=0, atol=1e-5, msg=name)


@pytest.mark.parametrize("kind", ["full", "sampled"])
def test_last_state(model, kind, monkeypatch):
    run(model, kind, monkeypatch)
    state = model.streams.get(True, step.ROWS, model.softmax.weight)
    for part in ("hidden", "cell"):
        for layer, found in enumerate(getattr(state, part)):
            for direction, half in enumerate(found.chunk(2, dim=1)):
                expected = torch.from_numpy(FOUND[f"final/{part}/{direction}/{layer}"])
                torch.testing.assert_close(half, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["full", "sampled"])
def test_weights_behind_the_step(model, kind, monkeypatch, tmp_path):
    """Clip of the global norm and Adagrad, as `experiments/pretraining/bilm.libsonnet` configures them."""
    run(model, kind, monkeypatch)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), step.CLIP)
    torch.optim.Adagrad(model.parameters(), lr=step.LEARNING_RATE, initial_accumulator_value=1.0).step()
    expected = as_tensors(tmp_path / "after", f"{kind}/after")

    assert float(norm) == pytest.approx(float(FOUND[f"{kind}/norm"]), rel=1e-5)
    for name, parameter in named(model):
        torch.testing.assert_close(parameter.detach(), expected[name], rtol=0, atol=1e-5, msg=name)


def named(model):
    yield from ((f"softmax.{name}", parameter) for name, parameter in model.softmax.named_parameters())
    yield from model.bilm.named_parameters()
