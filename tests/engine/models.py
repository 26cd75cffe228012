"""Small biLMs with weights that every test can know, and what the equations make of them."""

from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence

import numpy as np
import torch
from hypothesis import strategies as st

from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.characters import BEGIN_SENTENCE, END_SENTENCE, boundary_ids
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.formats.names import to_engine
from tests import tiny
from tests.engine import equations


class Weights(NamedTuple):
    """The content of an options.json, and the datasets of a weight file."""

    content: Dict[str, Any]
    datasets: Dict[str, np.ndarray]


def weights(seed: int = 0, **changes: Any) -> Weights:
    """Draw weights; `changes` are arguments of `tiny.options`."""
    content = tiny.options(**changes)
    return Weights(content, tiny.datasets(content, seed))


def bilm(source: Optional[Weights] = None, dtype: torch.dtype = torch.float64, **others: Any) -> BiLm:
    """Make a biLM; `others` are arguments of `BiLm`."""
    content, datasets = source or weights()
    options = BiLmOptions.from_dict(content)
    model = BiLm(options, **{"state": "reset", **others})
    model.load_tensors(to_engine(options, datasets), source="tests")
    return model.to(dtype)


def random_ids(lengths: Sequence[int], characters: int = 50, seed: int = 0) -> torch.Tensor:
    """
    Draw words of letters, one to the whole row long, some of them several times.

    # Returns

    `(rows, longest, characters)`.
    """
    random = np.random.RandomState(seed)
    letters = [random.randint(97, 105, size=1 + index % (characters - 2)) + 1 for index in range(30)]
    ids = torch.zeros(len(lengths), max(lengths, default=0), characters, dtype=torch.int64)
    for row, length in enumerate(lengths):
        for place in range(length):
            word = letters[random.randint(len(letters))]
            ids[row, place] = 261
            ids[row, place, 0] = 259
            ids[row, place, 1 : len(word) + 1] = torch.from_numpy(word)
            ids[row, place, len(word) + 1] = 260
    return ids


def random_word_ids(lengths: Sequence[int], words: int, seed: int = 0) -> torch.Tensor:
    """Draw ids of a word-level model, `(rows, longest)`."""
    random = np.random.RandomState(seed)
    ids = torch.zeros(len(lengths), max(lengths, default=0), dtype=torch.int64)
    for row, length in enumerate(lengths):
        ids[row, :length] = torch.from_numpy(random.randint(1, words + 1, size=length))
    return ids


def expected(
    source: Weights, ids: torch.Tensor, states: Optional[Dict[int, equations.State]] = None
) -> Dict[int, torch.Tensor]:
    """
    Run every row that has words through the equations.

    # Parameters

    states : for each row, where it starts; is changed to where it ends. Rows without words run too, then.

    # Returns

    Row to `(layers, words + 2, 2 * projection)`.
    """
    result = {}
    for row, sentence in enumerate(ids.numpy()):
        words = sentence[sentence.reshape(len(sentence), -1).any(axis=1)] if len(sentence) else sentence
        if len(words) or states is not None:
            start = None if states is None else states.get(row)
            layers, final = equations.layers(
                source.content, source.datasets, with_boundaries(source.content, words), start
            )
            result[row] = torch.from_numpy(np.stack(layers))
            if states is not None:
                states[row] = final
    return result


def with_boundaries(content: Mapping[str, Any], words: np.ndarray) -> np.ndarray:
    if "char_cnn" not in content:
        return np.concatenate([[1], words, [2]])
    length = content["char_cnn"]["max_characters_per_token"]
    begin, end = boundary_ids(BEGIN_SENTENCE, length), boundary_ids(END_SENTENCE, length)
    return np.concatenate([begin[None], words.reshape(-1, length), end[None]])


@st.composite
def architectures(draw: st.DrawFn) -> Dict[str, Any]:
    """Draw arguments of `tiny.options`: everything that bilm-tf's options allow, few of each."""
    projection = draw(st.integers(1, 5))
    changes: Dict[str, Any] = {
        "projection": projection,
        "cells": draw(st.just(projection) | st.integers(projection, 9)),
        "layers": draw(st.integers(1, 3)),
        "clip": draw(st.sampled_from([None, 0.2, 3.0])),
        "skip": draw(st.booleans()),
    }
    if draw(st.integers(0, 3)) == 0:
        return {**changes, "words": draw(st.integers(3, 12))}
    pair = st.tuples(st.integers(1, 6), st.integers(1, 4))
    return {
        **changes,
        "characters": draw(st.sampled_from([6, 10, 20, 25, 50])),
        "character_dim": draw(st.integers(1, 4)),
        "filters": draw(st.just([(2, projection)]) | st.lists(pair, min_size=1, max_size=3)),
        "highways": draw(st.integers(0, 2)),
        "activation": draw(st.sampled_from(["relu", "tanh"])),
    }


def ids_for(content: Mapping[str, Any], lengths: Sequence[int], seed: int = 0) -> torch.Tensor:
    """Draw ids for a model with these options."""
    if "char_cnn" in content:
        return random_ids(lengths, content["char_cnn"]["max_characters_per_token"], seed)
    return random_word_ids(lengths, content["n_tokens_vocab"], seed)
