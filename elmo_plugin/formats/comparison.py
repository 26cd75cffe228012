"""How far apart the vectors of two biLMs are, layer by layer."""

from typing import List, Sequence

import torch

from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.errors import WeightFileError
from elmo_plugin.engine.sentence_ids import SentenceIds
from elmo_plugin.engine.state import RESET
from elmo_plugin.formats.weight_set import WeightSet

#: text with something of everything: long and short words, other scripts, what is no word
SENTENCES = (
    ("The", "cat", "sat", "on", "the", "mat", "."),
    ("Unquestionably", "!"),
    ("naïve", "Ελληνικά", "日本語", "🙂", "שלום"),
    ("x" * 60, "", "1,234.5", "http://example.org/a?b=c", "-LRB-"),
    ("&amp;", "``", "''", "don't", "New", "York"),
)

_SENTENCES_AT_ONCE = 32


def largest_differences(one: WeightSet, other: WeightSet, sentences: Sequence[Sequence[str]]) -> List[float]:
    """
    Run text through two biLMs and compare what comes out.

    # Parameters

    one, other : the biLMs; each converts words to ids by its own options and vocabulary.
    sentences : lists of words, at least one of them not empty.

    # Returns

    The largest absolute difference of each layer, the token layer first; NaN where a vector is none.

    # Raises

    `WeightFileError` where the two have another number or another width of layers, or there is no text.
    """
    shapes = [(weights.options.num_layers, weights.options.output_dim) for weights in (one, other)]
    if shapes[0] != shapes[1]:
        raise WeightFileError(
            f"{other.source}: has {shapes[1][0]} layers of {shapes[1][1]}, expected {shapes[0][0]} of {shapes[0][1]} "
            f"as in {one.source}. Two biLMs can be compared only if their layers have one shape."
        )
    if not any(sentences):
        raise WeightFileError("the text to compare the biLMs on has no words, expected one sentence or more.")
    bilms = [_built(weights) for weights in (one, other)]
    to_ids = [SentenceIds(bilm, weights.vocabulary) for bilm, weights in zip(bilms, (one, other))]
    differences = torch.zeros(one.options.num_layers, dtype=torch.float64)
    for start in range(0, len(sentences), _SENTENCES_AT_ONCE):
        batch = [list(sentence) for sentence in sentences[start : start + _SENTENCES_AT_ONCE] if sentence]
        if not batch:
            continue
        packed = [bilm.run(convert(batch)) for bilm, convert in zip(bilms, to_ids)]
        found = [(ours - theirs).abs().max().double() for ours, theirs in zip(packed[0].layers, packed[1].layers)]
        differences = torch.maximum(differences, torch.stack(found))  # unlike Python's max, keeps what is not a number
    return differences.tolist()


def _built(weights: WeightSet) -> BiLm:
    bilm = BiLm(weights.options, state=RESET)
    bilm.load_tensors(weights.tensors, weights.source)
    return bilm.eval()
