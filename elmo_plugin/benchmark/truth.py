"""What vectors are compared with: float64 where that is affordable, AllenNLP in float32 where it is not."""

from typing import Optional, Sequence

from elmo_plugin.benchmark.peers import Peer, Setting
from elmo_plugin.benchmark.peers.transcription import TranscriptionPeer
from elmo_plugin.benchmark.sizes import Model
from elmo_plugin.engine.options import BiLmOptions

#: Multiplications and additions up to which float64 is affordable: some seconds on one core.
EXACT_UP_TO = 2e11


class Truth:
    """
    Chooses what to compare with, and makes it when it is first needed.

    # Parameters

    model : the biLM.
    setting : where.
    stock : AllenNLP's biLM; None where it is not installed.
    """

    def __init__(self, model: Model, setting: Setting, stock: Optional[Peer]) -> None:
        self._model = model
        self._setting = setting
        self._stock = stock
        self._exact: Optional[Peer] = None

    def for_batches(self, lengths: Sequence[Sequence[int]]) -> Peer:
        """
        Return the truth for a case.

        # Parameters

        lengths : words of each sentence of each batch.
        """
        if work(self._model.options, lengths) <= EXACT_UP_TO:
            if self._exact is None:
                self._exact = TranscriptionPeer(self._model, self._setting, "float64")
            return self._exact
        if self._stock is None:
            self._stock = TranscriptionPeer(self._model, self._setting, "float32")
        return self._stock


def work(options: BiLmOptions, lengths: Sequence[Sequence[int]]) -> float:
    """Multiplications and additions that AllenNLP makes for batches of sentences, padding included."""
    lstm, cnn = options.lstm, options.char_cnn
    assert cnn is not None, options
    tokens = sum(length + 2 for batch in lengths for length in batch)
    places = sum(len(batch) * (max(batch) + 2) for batch in lengths)
    cell = 2 * 4 * lstm.dim * lstm.projection_dim + lstm.dim * lstm.projection_dim
    windows = sum(
        width * cnn.embedding_dim * count * (cnn.max_characters_per_token + 1 - width) for width, count in cnn.filters
    )
    word = windows + cnn.num_filters * (2 * cnn.n_highway * cnn.num_filters + lstm.projection_dim)
    return 2.0 * (tokens * 2 * lstm.n_layers * cell + places * word)
