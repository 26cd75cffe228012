import os
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.engine import word_rows
from elmo_plugin.engine.characters import batch_to_ids, remembered_rows, words_to_ids
from elmo_plugin.engine.word_rows import DTYPE, WordRows


class Conversion:
    """Lengths of words in rows of 2; notes what it was asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, word):
        self.asked.append(word)
        return np.array([len(word), -len(word)], dtype=DTYPE).tobytes()


@pytest.fixture
def conversion():
    return Conversion()


@pytest.fixture
def memory(conversion):
    return WordRows(conversion, 2)


def test_rows_are_in_the_order_of_the_words(memory):
    array = memory.array(["aa", "b", "", "aa"])

    assert array.dtype == DTYPE
    assert array.tolist() == [[2, -2], [1, -1], [0, 0], [2, -2]]
    assert memory.array([]).shape == (0, 2)


def test_a_word_is_converted_once(memory, conversion):
    memory.rows(["a", "bb", "a"])
    memory.rows(["bb", "ccc", "a"])

    assert conversion.asked == ["a", "bb", "ccc"]


def test_callers_cannot_change_what_is_remembered(memory):
    array = memory.array(["a", "bb"])
    array[:] = 99

    assert memory.array(["a", "bb"]).tolist() == [[1, -1], [2, -2]]
    assert all(type(row) is bytes for row in memory.rows(["a"]))


def test_words_in_use_stay_and_others_are_forgotten(memory, conversion, monkeypatch):
    monkeypatch.setattr(word_rows, "WORDS_IN_A_HALF", 3)
    for number in range(12):
        memory.rows(["used", str(number)])
    memory.rows(["0"])

    assert conversion.asked.count("used") == 1
    assert conversion.asked.count("0") == 2


@given(st.lists(st.lists(st.text("ab", max_size=4), max_size=9), max_size=9))
def test_it_stays_in_its_bounds_and_right(texts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_rows, "WORDS_IN_A_HALF", 4)
        memory = WordRows(Conversion(), 2)
        for words in texts:
            assert memory.array(words).tolist() == [[len(word), -len(word)] for word in words]
            assert len(memory._recent) <= 4 and len(memory._older) <= 4


def test_endless_strings_are_not_kept(memory, conversion):
    memory.rows(["x" * 101, "y" * 100])
    memory.rows(["x" * 101, "y" * 100])

    assert [len(word) for word in conversion.asked] == [101, 100, 101]


def test_threads_share_a_memory(monkeypatch):
    monkeypatch.setattr(word_rows, "WORDS_IN_A_HALF", 20)
    memory = WordRows(Conversion(), 2)
    wrong = []

    def work(seed):
        random = np.random.RandomState(seed)
        for _ in range(300):
            words = ["x" * length for length in random.randint(0, 60, size=10)]
            if memory.array(words)[:, 0].tolist() != [len(word) for word in words]:
                wrong.append(words)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_forked_process_goes_on():
    remembered_rows(50).rows(["before"])
    child = os.fork()
    if child == 0:
        ids = batch_to_ids([["before", "after"]])
        os._exit(0 if ids.shape == (1, 2, 50) else 1)

    assert os.waitpid(child, 0)[1] == 0


@settings(deadline=None)
@given(st.lists(st.text(max_size=6), max_size=8), st.integers(3, 8))
def test_remembered_characters_are_those_of_a_conversion(words, length):
    assert remembered_rows(length).array(words).tolist() == words_to_ids(words, length).tolist()


def test_kinds_of_rows_are_apart():
    plain, added = remembered_rows(5), remembered_rows(5, (("<S>", 7), ("new", 8)))

    assert plain is remembered_rows(5) and plain is not added
    assert added.array(["<S>", "</S>", "new"])[:, 1].tolist() == [8, 258, 9]
    assert plain.array(["<S>", "</S>", "new"])[:, 1].tolist() == [257, 258, 111]
