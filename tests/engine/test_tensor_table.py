import pytest
import torch

from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.errors import WeightFileError
from elmo_plugin.engine.options import BiLmOptions, CharCnnOptions, LstmOptions
from elmo_plugin.engine.tensor_table import MAX_ROWS, check_tensors, expected_shapes, optional_shapes

ARCHITECTURES = [
    BiLmOptions(LstmOptions(3, 2, 2), CharCnnOptions(4, ((1, 3), (2, 5)), n_highway=2)),
    BiLmOptions(LstmOptions(2, 2, 3), CharCnnOptions(4, ((1, 2),))),
    BiLmOptions(LstmOptions(3, 2, 1), n_tokens_vocab=4),
]


@pytest.mark.parametrize("options", ARCHITECTURES, ids=["usual", "no projections", "words"])
def test_the_lists_are_what_the_model_has(options):
    bilm = BiLm(options, state="warm")
    parameters = {name: tuple(value.shape) for name, value in bilm.named_parameters()}
    state = {name: tuple(value.shape) for name, value in bilm.state_dict().items()}

    assert parameters == expected_shapes(options)
    assert state == {**expected_shapes(options), **optional_shapes(options)}


def test_equal_and_optional_tensors_pass():
    check_tensors({"a": torch.Size([2, 3]), "b": (1,)}, {"a": (2, 3)}, "here", optional={"b": (1,), "c": (2,)})


def test_everything_wrong_is_in_one_table():
    with pytest.raises(WeightFileError) as caught:
        check_tensors({"a": (2, 3), "bb": (), "d": (7,)}, {"a": (3, 2), "c": (4,)}, "x.hdf5", {"d": (8,)}, hint="Look.")

    assert str(caught.value).splitlines() == [
        "x.hdf5: the tensors do not fit the options: 1 missing, 1 surplus, 2 of another shape.",
        "  tensor  problem  found   expected",
        "  c       missing  -       [4]",
        "  bb      surplus  []      -",
        "  d       shape    [7]     [8]",
        "  a       shape    [2, 3]  [3, 2]",
        "Look.",
    ]


def test_a_long_table_is_cut():
    with pytest.raises(WeightFileError, match=r"\.\.\. and 40 more\nCheck that") as caught:
        check_tensors({str(number): (1,) for number in range(MAX_ROWS + 40)}, {}, "x")
    assert "0 missing, 100 surplus, 0 of another shape" in str(caught.value)
