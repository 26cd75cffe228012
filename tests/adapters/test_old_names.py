"""Parameters and tensors of `elmo_token_embedder` under their old names."""

import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.common.checks import ConfigurationError

from elmo_plugin.adapters.old_names import choose, rename_old_state
from elmo_plugin.formats import read_weights
from elmo_plugin.formats.allennlp_names import to_allennlp
from tests import tiny


@pytest.mark.parametrize(
    "value,old_value,expected",
    [(None, None, "default"), ("a", None, "a"), (None, "b", "b"), ("a", "a", "a"), (False, None, False)],
)
def test_choice(value, old_value, expected):
    assert choose("new", value, "old", old_value, "default") == expected


def test_contradiction_names_both():
    with pytest.raises(ConfigurationError, match='"new" is True and "old", its old name, is False'):
        choose("new", True, "old", False, None)


def test_old_tensors_get_their_new_names(tmp_path):
    tiny.write(tmp_path / "bilm")
    weights = read_weights(tmp_path / "bilm")
    state = {"x._elmo." + name: tensor for name, tensor in to_allennlp(weights.tensors).items()}
    for mix in range(2):
        state[f"x._elmo.scalar_mix_{mix}.gamma"] = torch.tensor([2.0 + mix])
        for layer in range(3):
            state[f"x._elmo.scalar_mix_{mix}.scalar_parameters.{layer}"] = torch.tensor([10.0 * mix + layer])
    state["x._projection.weight"], state["x._projection.bias"] = torch.ones(2, 2), torch.zeros(2)
    state["y.weight"] = torch.ones(1)

    rename_old_state(state, "x.", torch.zeros(1))

    assert {name for name in state if name.startswith("x.elmo.bilm.")} == {
        f"x.elmo.bilm.{name}" for name in weights.tensors
    }
    assert state["x.elmo.mixes.1.weights"].tolist() == [10, 11, 12]
    assert state["x.elmo.mixes.1.gamma"].tolist() == [3]
    assert state["x.projections.0.weight"].shape == (2, 2)
    assert "x._extra_state" in state and "y.weight" in state
    assert not any(name.startswith("x._elmo") or "_projection." in name for name in state)


def test_new_tensors_stay():
    state = {"x.elmo.bilm.lstm.forward_layers.0.bias": torch.ones(4)}

    rename_old_state(state, "x.", torch.zeros(1))

    assert list(state) == ["x.elmo.bilm.lstm.forward_layers.0.bias"]
