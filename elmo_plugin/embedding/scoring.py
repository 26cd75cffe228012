"""What the language model thinks of a sentence: the probabilities of its words, and of others in their places."""

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import torch

from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.errors import OptionsError, ShapeError
from elmo_plugin.engine.sentence_ids import SentenceIds
from elmo_plugin.engine.softmax import LanguageModelSoftmax
from elmo_plugin.engine.words import (
    BEGIN_SENTENCE_WORD,
    END_SENTENCE_WORD,
    SPECIAL_WORDS,
    UNKNOWN_WORD,
    index_vocabulary,
)
from elmo_plugin.formats.weight_set import WeightSet


class LogProbabilities(NamedTuple):
    """
    Natural logarithms of the probabilities of a sentence's tokens.

    # Parameters

    forward : of each token, given those before it, `(tokens,)`.
    backward : of each token, given those behind it, `(tokens,)`.
    end : of the end of the sentence, given all tokens.
    begin : of its begin, read from right to left, given all tokens.
    is_unknown : where a token is not in the vocabulary, so that the probability is that of all unknown words.
    """

    forward: np.ndarray
    backward: np.ndarray
    end: float
    begin: float
    is_unknown: np.ndarray

    @property
    def perplexity(self) -> float:
        """The exponential of the mean over both directions, boundaries included, as in the training of a biLM."""
        total = self.forward.sum() + self.backward.sum() + self.end + self.begin
        return float(np.exp(-total / (2 * (len(self.forward) + 1))))


def build_softmax(weights: WeightSet) -> LanguageModelSoftmax:
    """
    Build the frozen softmax of a biLM.

    # Raises

    `OptionsError` where the weights came without one.
    """
    if weights.softmax is None:
        raise OptionsError(
            f"{weights.source}: these weights hold no softmax, which the probabilities of words are computed with. "
            "The published biLMs came without it. Use weights that were written with their softmax, such as those "
            'of the model "elmo_language_model".'
        )
    with torch.random.fork_rng(devices=[]):
        softmax = LanguageModelSoftmax(*weights.softmax["weight"].shape)
    softmax.load_state_dict(weights.softmax)
    return softmax.requires_grad_(False)


class LanguageModel:
    """
    A biLM with its softmax.

    A sentence is read by itself: from zero, or from the warm state where the biLM has state "warm". What the biLM
    carries is neither used nor changed.

    # Parameters

    bilm : frozen.
    weights : where the biLM is from, with softmax and vocabulary.

    # Raises

    `OptionsError` where the weights came without one of the two.
    """

    def __init__(self, bilm: BiLm, weights: WeightSet) -> None:
        softmax = build_softmax(weights)
        if weights.vocabulary is None:
            raise OptionsError(
                f"{weights.source}: the softmax is there, but not the vocabulary that says which words its rows are. "
                "Put its vocabulary.txt, one word a line in the order of the rows, beside the weights."
            )
        self._bilm = bilm
        self._vocabulary = weights.vocabulary
        self._to_ids = SentenceIds(bilm, weights.vocabulary)
        ids = index_vocabulary(weights.vocabulary, weights.source)
        self._rows: Dict[str, int] = {word: number - 1 for word, number in ids.items()}
        self._softmax = softmax.to(next(bilm.parameters()).device)

    @torch.no_grad()
    def log_probabilities(self, sentence: Sequence[str]) -> LogProbabilities:
        """
        Score a sentence.

        # Parameters

        sentence : its tokens, at least one.
        """
        forward, backward = self._hidden(sentence)
        words = [self._row(word) for word in (BEGIN_SENTENCE_WORD, *sentence, END_SENTENCE_WORD)]
        targets = torch.tensor(words, device=forward.device)
        losses = self._softmax.full(
            torch.cat([forward[:-1], backward[1:]]), torch.cat([targets[1:], targets[:-1]])
        ).per_token
        first, second = (-losses).cpu().double().numpy().reshape(2, -1)
        unknown = np.array([word not in self._rows or word == UNKNOWN_WORD for word in sentence])
        return LogProbabilities(first[:-1], second[1:], float(first[-1]), float(second[0]), unknown)

    @torch.no_grad()
    def most_likely(self, tokens: Sequence[str], position: int, k: int = 10) -> List[Tuple[str, float]]:
        """
        Say which words fit best into a place of a sentence.

        Each direction gives every word of the vocabulary a probability from its side of the place; the two are
        multiplied and scaled to a sum of 1. The token that stands there has no influence.

        # Parameters

        tokens : the sentence, with any token in the place.
        position : the place, from 0.
        k : number of words.

        # Returns

        Words and probabilities, the most likely first; never a sentence boundary or `<UNK>`.
        """
        if not 0 <= position < len(tokens):
            raise OptionsError(f"position is {position}, expected 0 to {len(tokens) - 1} for {len(tokens)} tokens.")
        if not 1 <= k <= len(self._vocabulary) - len(SPECIAL_WORDS):
            raise OptionsError(
                f"k is {k}, expected 1 to {len(self._vocabulary) - len(SPECIAL_WORDS)}, the words of the vocabulary."
            )
        forward, backward = self._hidden(tokens)
        # the step before the place, and the one behind it
        hidden = torch.stack([forward[position], backward[position + 2]])
        scores = torch.log_softmax(torch.addmm(self._softmax.bias, hidden, self._softmax.weight.t()), dim=1).sum(dim=0)
        scores[: len(SPECIAL_WORDS)] = float("-inf")
        best = torch.softmax(scores, dim=0).topk(k)
        return [(self._vocabulary[row], value) for value, row in zip(best.values.tolist(), best.indices.tolist())]

    def _hidden(self, sentence: Sequence[str]) -> Tuple[torch.Tensor, torch.Tensor]:
        """The last layer of each direction with the boundaries, `(tokens + 2, projection)`."""
        check_sentence(sentence)
        if not sentence:
            raise ShapeError("the sentence has no tokens, expected one or more.")
        kept = self._bilm.carried
        self._bilm.reset_states()
        try:
            packed = self._bilm.run(self._to_ids([sentence]))
        finally:
            self._bilm.carried = kept
        # One row: the packed steps are its steps.
        forward, backward = packed.layers[-1].float().chunk(2, dim=1)
        return forward, backward

    def _row(self, word: str) -> int:
        return self._rows.get(word, self._rows[UNKNOWN_WORD])


def check_sentence(sentence: Sequence[str], place: Optional[int] = None) -> None:
    """
    Raise `ShapeError` for what is no list of strings. A string would be read as a list of one-letter tokens, and a
    number as an unknown word.
    """
    where = "the sentence" if place is None else f"sentence {place}"
    if isinstance(sentence, str):
        raise ShapeError(
            f"{where} is the string {sentence[:40]!r}, expected a list of tokens. Split it first; the biLM does not "
            "tokenise."
        )
    if not hasattr(sentence, "__len__"):
        raise ShapeError(f"{where} is of type {type(sentence).__name__}, expected a list of tokens.")
    for position, token in enumerate(sentence):
        if not isinstance(token, str):
            raise ShapeError(
                f"{where}: its token {position} is {str(token)[:40]!r} of type {type(token).__name__}, expected text."
            )
