"""Perplexities of a biLM on a text: exact softmax, weighted by tokens, with intervals over its sentences."""

from typing import Dict, Iterator, NamedTuple, Optional, Tuple

import numpy as np
import torch

from elmo_plugin.corpus.bootstrap import central, resamples
from elmo_plugin.corpus.sentence_batches import sentence_batches
from elmo_plugin.corpus.streams import LazyBlock, StreamBatch, stream_batches, to_tensors
from elmo_plugin.corpus.text import Corpus
from elmo_plugin.corpus.word_table import WordTable
from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.direction_scores import DIRECTIONS, bounded_exp
from elmo_plugin.engine.lstm import LstmState
from elmo_plugin.engine.softmax import LanguageModelSoftmax
from elmo_plugin.engine.state import CARRIED

UNROLL_STEPS = 20


class SentenceScores(NamedTuple):
    """
    What a biLM makes of each sentence of a text.

    `losses` `(sentences, 2)`: summed cross-entropies in nats, forward and backward. `tokens` `(sentences,)`: words and
    the sentence's end, which is predicted too. `unknown` `(sentences,)`: words that are not in the vocabulary.
    """

    losses: np.ndarray
    tokens: np.ndarray
    unknown: np.ndarray

    def perplexities(self, sentence_weights: Optional[np.ndarray] = None) -> Dict[str, float]:
        """
        Return `forward`, `backward` and `mean`: the exponential of the mean of both directions' losses per token.

        # Parameters

        sentence_weights : `(sentences,)`: how often each sentence counts; once by default.
        """
        weights = np.ones(len(self.tokens)) if sentence_weights is None else sentence_weights
        means = (weights @ self.losses) / max(1.0, weights @ self.tokens)
        found = {name: bounded_exp(float(mean)) for name, mean in zip(DIRECTIONS, means)}
        found["mean"] = bounded_exp(float(means.mean()))
        return found

    def intervals(self, samples: int = 1000, seed: int = 0, level: float = 0.95) -> Dict[str, Tuple[float, float]]:
        """
        Bootstrap over sentences: between which perplexities texts of as many sentences of this kind lie.

        # Parameters

        samples : texts drawn from the sentences, with repetition.
        seed : of the drawing.
        level : share of the texts within the interval.

        # Returns

        The keys of `perplexities`, each with the lower and the upper bound.
        """
        drawn = [self.perplexities(times) for times in resamples(len(self.tokens), samples, seed)]
        return {name: central([sample[name] for sample in drawn], level) for name in drawn[0]}


@torch.no_grad()
def score_corpus(
    bilm: BiLm, softmax: LanguageModelSoftmax, corpus: Corpus, table: WordTable, state: str, rows: int
) -> SentenceScores:
    """
    Score every sentence of a text.

    # Parameters

    bilm : with the state policy "warm" where `state` is.
    softmax : over the words of `table`'s vocabulary.
    state : "carried": the text runs through `rows` streams, as in training and in `elmo_language_model`'s evaluation;
        else sentence by sentence, from zeros ("reset") or the warm state ("warm").
    rows : of a batch.
    """
    count = corpus.counts().sentences
    losses, tokens, unknown = np.zeros((count, 2)), np.zeros(count), np.zeros(count)
    carried: Optional[LstmState] = None
    for batch in _batches(corpus, table, state == CARRIED, rows):
        tensors = {name: tensor.to(softmax.weight.device) for name, tensor in to_tensors(batch, table).items()}
        vectors = bilm.encode_words(tensors["words"])
        begin = carried if bilm.warm is None else bilm.warm.state(rows, vectors)
        forward, backward, final = bilm.lstm.run_streams(
            torch.nn.functional.embedding(tensors["forward_inputs"], vectors),
            torch.nn.functional.embedding(tensors["backward_inputs"], vectors),
            begin,
            lengths=(batch.sentences >= 0).sum(1).tolist(),
        )
        carried = final if state == CARRIED else None
        places = batch.sentences.reshape(-1)
        kept = places >= 0
        for index, (name, output) in enumerate(zip(DIRECTIONS, (forward, backward))):
            hidden = output.reshape(-1, output.shape[-1])
            per_token = softmax.full(hidden, tensors[name + "_targets"].reshape(-1)).per_token.double().cpu().numpy()
            np.add.at(losses[:, index], places[kept], per_token[kept])
        is_unknown = table.is_unknown(batch.forward_targets.reshape(-1)[kept])
        np.add.at(tokens, places[kept], 1)
        np.add.at(unknown, places[kept], is_unknown)
    return SentenceScores(losses, tokens, unknown)


def _batches(corpus: Corpus, table: WordTable, is_continuous: bool, rows: int) -> Iterator[StreamBatch]:
    blocks = (LazyBlock(block, table).sentences() for block in corpus.blocks())
    if is_continuous:
        batches = stream_batches((sentence for block in blocks for sentence in block), rows, UNROLL_STEPS)
    else:
        batches = sentence_batches(map(list, blocks), rows)
    return (batch for batch in batches if batch is not None)  # none is skipped
