import pytest
import torch

from elmo_plugin.embedding.layers import LayerChoice
from elmo_plugin.engine.errors import OptionsError

LAYERS = [torch.full((4, 2), float(number)) + torch.arange(4.0)[:, None] for number in (1, 2, 6)]
PLACES = torch.tensor([2, 0])


@pytest.mark.parametrize(
    "choice,name,expected",
    [
        ("all", "all", [[3, 4, 8], [1, 2, 6]]),
        ("top", "top", [8, 6]),
        ("average", "average", [5, 3]),
        ("1", "1", [4, 2]),
        (0, "0", [3, 1]),
        ("2,0", "2,0", [[8, 3], [6, 1]]),
        ([1], "1", [[4], [2]]),
    ],
)
def test_choices(choice, name, expected):
    chosen = LayerChoice(choice, 3)
    taken = torch.stack(chosen.take(LAYERS, PLACES), dim=1)
    taken = taken.squeeze(1) if chosen.is_single else taken

    assert chosen.name == name
    assert taken[..., 0].tolist() == expected
    assert tuple(taken.shape) == chosen.shape(2, 2)
    assert taken.dtype == torch.float32


@pytest.mark.parametrize("choice", ["3", -1, "", "last", "0,", "0;1", [], True, [0, 3], 1.0, "²"])
def test_wrong_choices_are_refused(choice):
    with pytest.raises(OptionsError, match="layers are"):
        LayerChoice(choice, 3)
