import math

import numpy as np
import pytest

pytest.importorskip("safetensors")

from elmo_plugin.embedding.embedder import build_bilm
from elmo_plugin.embedding.scoring import LanguageModel
from elmo_plugin.explorer.surprisal import surprisal
from elmo_plugin.explorer.text import PageError
from tests.explorer.explorers import SENTENCES, make_explorer, with_softmax


def test_bits_are_those_of_the_language_model():
    weights = with_softmax()
    sentence = [*SENTENCES[0][:4], "zzz"]
    expected = LanguageModel(build_bilm(weights, state="warm"), weights).log_probabilities(sentence)

    found = surprisal(make_explorer(), sentence)

    begin, *words, end = found.words
    assert [one.word for one in words] == sentence
    assert [one.is_unknown for one in words] == [False] * 4 + [True]
    np.testing.assert_allclose([2.0**-one.forward for one in words], np.exp(expected.forward), rtol=1e-4)
    np.testing.assert_allclose([2.0**-one.backward for one in words], np.exp(expected.backward), rtol=1e-4)
    assert math.isnan(begin.forward) and math.isnan(end.backward)
    assert (begin.backward, end.forward) == pytest.approx((-expected.begin / math.log(2), -expected.end / math.log(2)))
    assert found.perplexity == pytest.approx(expected.perplexity)


def test_without_a_softmax_it_says_what_is_missing_and_what_to_do():
    explorer = make_explorer(is_scoring=False)

    with pytest.raises(PageError, match=r"builtin: these weights hold no softmax.*softmax\.jsonnet.*--weights"):
        surprisal(explorer, SENTENCES[0])
