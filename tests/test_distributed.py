"""Two processes with gloo: gradients are the mean of the shards', and `allennlp train` and pre-training run."""

import pytest
import torch
from torch import multiprocessing

pytest.importorskip("allennlp")

from elmo_plugin.engine import batch_to_ids
from elmo_plugin.formats import read_weights
from tests import distributed, distributed_lm, tagging, tiny


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


def test_two_processes_train_a_language_model_as_one_does_on_both_halves(tmp_path):
    """Each reads its own shard; losses, metrics and weights are those of one process with the rows of both."""
    generator = torch.Generator().manual_seed(0)
    for name in ("0", "1"):
        lines = [" ".join(f"w{int(i)}" for i in torch.randint(0, 20, (4,), generator=generator)) for _ in range(40)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    multiprocessing.start_processes(distributed_lm.work, (str(tmp_path),), nprocs=2, start_method="fork")
    found = [torch.load(tmp_path / f"{rank}.pt") for rank in range(2)]

    alone = distributed_lm.model(str(tmp_path))
    halves = [distributed_lm.batches(str(tmp_path / f"{name}.txt"), alone.vocab) for name in ("0", "1")]
    losses = distributed_lm.train(alone, map(side_by_side, *halves))
    metrics = alone.get_metrics(reset=True)

    assert losses == pytest.approx([(one + two) / 2 for one, two in zip(found[0][0], found[1][0])], abs=1e-4)
    assert losses[-1] < losses[0]
    assert found[0][1] == found[1][1] == pytest.approx(metrics, abs=1e-4)
    for name, tensor in alone.state_dict().items():
        if name in ("streams.hidden", "streams.cell"):
            torch.testing.assert_close(torch.cat([found[rank][2][name] for rank in range(2)], 1), tensor)
        elif name != "_extra_state":
            for _, _, state in found:
                torch.testing.assert_close(state[name], tensor, rtol=0, atol=1e-4)


def side_by_side(one, two):
    """The batch that holds the rows of both."""
    joined = {name: torch.cat([one[name], two[name]]) for name in one}
    for name in ("forward_inputs", "backward_inputs"):
        joined[name] = torch.cat([one[name], two[name] + len(one["words"])])
    return joined
