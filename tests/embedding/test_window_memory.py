import numpy as np
import pytest

from elmo_plugin.embedding.window_memory import WindowMemory


@pytest.mark.parametrize("layers_first", [True, False])
@pytest.mark.parametrize("shape", [(3, 4), (4,)], ids=str)
@pytest.mark.parametrize("tokens", [0, 1, 7, 5000])
def test_rooms_have_the_order_that_was_asked_for(shape, layers_first, tokens):
    vectors = WindowMemory(shape, layers_first, tokens=7).room(tokens).vectors

    assert vectors.shape == (tokens, *shape) and vectors.dtype == np.float32
    in_memory = vectors.transpose(1, 0, 2) if layers_first and len(shape) == 2 else vectors
    assert in_memory.flags.c_contiguous


def test_what_was_given_back_is_used_again():
    memory = WindowMemory((3, 4), True, tokens=7)
    first, second = memory.room(5), memory.room(7)
    assert not np.shares_memory(first.vectors, second.vectors)

    memory.give_back(first)
    third, fourth = memory.room(7), memory.room(1)

    assert np.shares_memory(first.vectors, third.vectors)
    assert not np.shares_memory(third.vectors, fourth.vectors)


def test_a_huge_room_is_not_kept():
    memory = WindowMemory((4,), False, tokens=7)
    huge = memory.room(5000)
    memory.give_back(huge)

    assert not np.shares_memory(huge.vectors, memory.room(7).vectors)
