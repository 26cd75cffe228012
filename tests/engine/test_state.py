import pytest
import torch

from elmo_plugin.engine.errors import EngineError, OptionsError
from elmo_plugin.engine.lstm import LstmState
from elmo_plugin.engine.options import LstmOptions
from elmo_plugin.engine.state import CARRIED, POLICIES, RESET, WARM, StateKeeper, WarmState, check_policy

OPTIONS = LstmOptions(dim=3, projection_dim=2, n_layers=1)


def zeros(rows, dtype=torch.float32):
    return LstmState(torch.zeros(1, rows, 4, dtype=dtype), torch.zeros(1, rows, 6, dtype=dtype))


def numbered(*values):
    """The final state of rows, each filled with its number."""
    rows = torch.tensor(values, dtype=torch.float32)[None, :, None]
    return LstmState(rows.expand(1, -1, 4), rows.expand(1, -1, 6))


def call(keeper, rows, ran, *values):
    """One call: returns what each row begins with, and ends with `values` in the rows that ran."""
    begun = keeper.begin(zeros(rows))
    keeper.end(begun, numbered(*values), torch.tensor(ran, dtype=torch.int64))
    assert torch.equal(begun.hidden[0, :, 0], begun.cell[0, :, 0])
    return begun.hidden[0, :, 0].tolist()


@pytest.mark.parametrize("policy", POLICIES)
def test_policies(policy):
    assert check_policy(policy) == policy


def test_unknown_policy():
    with pytest.raises(OptionsError, match=r"unknown state 'kept'; choose one of \['carried', 'reset', 'warm'\]"):
        StateKeeper("kept")


def test_carried_begins_where_the_last_call_ended():
    keeper = StateKeeper(CARRIED)

    assert call(keeper, 2, [0, 1], 1, 2) == [0, 0]
    assert call(keeper, 2, [1, 0], 3, 4) == [1, 2], "the rows are numbered by the batch, not by the packing"
    assert call(keeper, 2, [0, 1], 5, 6) == [4, 3]


def test_carried_with_batches_that_grow_and_shrink():
    keeper = StateKeeper(CARRIED)

    assert call(keeper, 1, [0], 1) == [0]
    assert call(keeper, 3, [0, 1, 2], 2, 3, 4) == [1, 0, 0]
    assert call(keeper, 2, [0, 1], 5, 6) == [2, 3]
    assert call(keeper, 0, []) == []
    assert call(keeper, 4, [0, 1, 2, 3], 7, 8, 9, 10) == [5, 6, 4, 0], "row 2 kept what the larger batch left"


def test_carried_rows_that_did_not_run_keep_their_state():
    keeper = StateKeeper(CARRIED)
    call(keeper, 3, [0, 1, 2], 1, 2, 3)

    assert call(keeper, 3, [2], 9) == [1, 2, 3]
    assert call(keeper, 3, [], *[]) == [1, 2, 9]
    assert call(keeper, 3, [0], 7) == [1, 2, 9]


def test_reset_of_carried_state():
    keeper = StateKeeper(CARRIED)
    call(keeper, 2, [0, 1], 1, 2)
    keeper.reset()

    assert call(keeper, 2, [0, 1], 3, 4) == [0, 0]


def test_carried_state_follows_the_dtype():
    keeper = StateKeeper(CARRIED)
    call(keeper, 2, [0, 1], 1, 2)

    begun = keeper.begin(zeros(2, torch.float64))

    assert begun.hidden.dtype == begun.cell.dtype == torch.float64
    assert begun.hidden[0, :, 0].tolist() == [1, 2]
    keeper.end(begun, LstmState(begun.hidden[:, :1], begun.cell[:, :1]), torch.tensor([0]))
    assert keeper.begin(zeros(3)).hidden.dtype == torch.float32


def test_carried_state_has_no_history():
    keeper = StateKeeper(CARRIED)
    final = LstmState(torch.randn(1, 2, 4, requires_grad=True) * 2, torch.randn(1, 2, 6, requires_grad=True) * 2)
    keeper.end(keeper.begin(zeros(2)), final, torch.tensor([0, 1]))

    begun = keeper.begin(zeros(2))
    assert not begun.hidden.requires_grad and not begun.cell.requires_grad
    assert torch.equal(begun.hidden, final.hidden.detach())


def test_what_begins_a_call_is_not_changed_by_its_end():
    keeper = StateKeeper(CARRIED)
    call(keeper, 1, [0], 1)
    begun = keeper.begin(zeros(1))
    keeper.end(begun, numbered(2), torch.tensor([0]))

    assert begun.hidden.eq(1).all()


def test_reset_always_begins_with_zeros():
    keeper = StateKeeper(RESET)

    for _ in range(3):
        assert call(keeper, 2, [0, 1], 1, 2) == [0, 0]


def warm_state(value=1.5):
    warm = WarmState(OPTIONS)
    warm.set(torch.full((1, 4), value), torch.full((1, 6), value))
    return warm


def test_warm_always_begins_with_the_stored_state():
    keeper = StateKeeper(WARM, warm_state())

    for rows in (2, 0, 3):
        assert call(keeper, rows, list(range(rows)), *range(rows)) == [1.5] * rows


def test_warm_state_has_the_dtype_of_the_call():
    begun = StateKeeper(WARM, warm_state()).begin(zeros(2, torch.float64))

    assert begun.hidden.dtype == begun.cell.dtype == torch.float64
    assert begun.hidden.shape == (1, 2, 4) and begun.cell.shape == (1, 2, 6)


def test_a_warm_state_that_was_never_set_is_an_error():
    warm = WarmState(OPTIONS)

    assert not warm.is_set
    with pytest.raises(EngineError, match='state "warm", but no warm state was computed or loaded.*warm_up'):
        StateKeeper(WARM, warm).begin(zeros(1))


def test_half_a_warm_state_is_none():
    warm = WarmState(OPTIONS)
    warm.hidden.zero_()

    assert not warm.is_set


def test_warm_state_can_be_cleared():
    warm = warm_state()
    assert warm.is_set
    warm.clear()

    assert not warm.is_set


def test_warm_state_is_part_of_the_state_dict():
    state = warm_state().state_dict()

    assert {name: tuple(value.shape) for name, value in state.items()} == {"hidden": (1, 4), "cell": (1, 6)}
    other = WarmState(OPTIONS)
    other.load_state_dict(state)
    assert other.is_set
