"""Two processes with gloo: gradients are the mean of the shards', and `allennlp train` runs."""

import pytest
import torch
from torch import multiprocessing

pytest.importorskip("allennlp")

from elmo_plugin.engine import batch_to_ids
from elmo_plugin.formats import read_weights
from tests import distributed, tagging, tiny


def test_gradients_are_the_mean_over_the_processes(tmp_path):
    tiny.write(tmp_path / "bilm")
    multiprocessing.spawn(distributed.work, args=(str(tmp_path),), nprocs=2)

    for name, fine_tune in (("frozen", False), ("tuned", True)):
        found = [torch.load(tmp_path / f"{name}_{rank}.pt") for rank in range(2)]
        alone = [
            distributed.gradients(distributed.embedder_for(str(tmp_path / "bilm"), fine_tune), rank)
            for rank in range(2)
        ]
        assert set(found[0]) == set(found[1]) == set(alone[0])
        assert {"elmo.mixes.0.weights", "elmo.mixes.1.gamma"} <= set(found[0])
        assert ("elmo.bilm.lstm.forward_layers.0.bias" in found[0]) == fine_tune
        for parameter, gradient in found[0].items():
            assert torch.equal(gradient, found[1][parameter])
            expected = (alone[0][parameter] + alone[1][parameter]) / 2
            torch.testing.assert_close(gradient, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "fine_tune", [pytest.param(False, marks=pytest.mark.slow, id="frozen"), pytest.param(True, id="tuned")]
)
def test_allennlp_train(tmp_path, fine_tune):
    tiny.write(tmp_path / "bilm")
    embedder = {"type": "elmo", "weights": str(tmp_path / "bilm"), "fine_tune": fine_tune}
    configuration = tagging.config(tmp_path, embedder, distributed={"cuda_devices": [-1, -1]})

    model = tagging.train(configuration, tmp_path / "run", include_package=["elmo_plugin"], return_model=True)

    assert len(tagging.losses(tmp_path / "run")) == 4
    trained = model.text_field_embedder.token_embedder_elmo
    assert trained.mixing_weights()[0]["gamma"] != 1
    before = read_weights(tmp_path / "bilm").tensors["lstm.forward_layers.0.bias"]
    assert torch.equal(trained.elmo.bilm.lstm.forward_layers[0].bias, before) != fine_tune
    assert trained(batch_to_ids([["a"]])).shape == (1, 1, 12)
