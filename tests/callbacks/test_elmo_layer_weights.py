"""Weights of layers epoch by epoch."""

from types import SimpleNamespace

import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.training.callbacks import TrainerCallback  # noqa: E402

from elmo_plugin.callbacks.elmo_layer_weights import FILE_NAME, ElmoLayerWeights, read  # noqa: E402
from elmo_plugin.token_embedders.elmo import ElmoEmbedder  # noqa: E402


@pytest.fixture(scope="module")
def embedder():
    return ElmoEmbedder(num_mixes=2, initial_weights=[0.0, 1.0, 0.0])


def trainer(embedder, done=0):
    return SimpleNamespace(model=torch.nn.ModuleDict({"text": embedder}), _start_after_epochs_completed=done)


def places(folder):
    return [(line["epoch"], line["module"], line["mix"]) for line in read(folder / FILE_NAME)]


def both(*epochs):
    return [(epoch, "text", mix) for epoch in epochs for mix in (0, 1)]


def test_every_mix_at_the_start_and_behind_every_epoch(tmp_path, embedder):
    callback = ElmoLayerWeights(str(tmp_path))
    callback.on_start(trainer(embedder))
    with torch.no_grad():
        embedder.elmo.mixes[1].gamma.fill_(2.0)
    callback.on_epoch(trainer(embedder), {}, epoch=0)
    with torch.no_grad():
        embedder.elmo.mixes[1].gamma.fill_(1.0)

    assert places(tmp_path) == both(0, 1)
    lines = read(tmp_path / FILE_NAME)
    assert [line["gamma"] for line in lines] == [1.0, 1.0, 1.0, 2.0]
    assert lines[0]["layers"] == [0, 1, 2]
    assert lines[0]["weights"] == pytest.approx(torch.tensor([0.0, 1.0, 0.0]).softmax(0).tolist())


def test_a_training_that_goes_on_repeats_no_epoch(tmp_path, embedder):
    """It was killed in its third epoch, behind the callback and before the checkpoint."""
    first = ElmoLayerWeights(str(tmp_path))
    first.on_start(trainer(embedder))
    for epoch in range(3):
        first.on_epoch(trainer(embedder), {}, epoch=epoch)

    again = ElmoLayerWeights(str(tmp_path))
    again.on_start(trainer(embedder, done=2))
    again.on_epoch(trainer(embedder, done=2), {}, epoch=2)

    assert places(tmp_path) == both(0, 1, 2, 3)


def test_other_processes_write_nothing(tmp_path, embedder):
    callback = ElmoLayerWeights(str(tmp_path))
    callback.on_start(trainer(embedder), is_primary=False)
    callback.on_epoch(trainer(embedder), {}, epoch=0, is_primary=False)

    assert list(tmp_path.iterdir()) == []


def test_a_configuration_names_it(tmp_path):
    assert TrainerCallback.by_name("elmo_layer_weights") is ElmoLayerWeights
