"""The token layer of a biLM with a lexicon: a CNN over Unicode characters, and vectors of words beside it."""

from typing import Optional

import torch
from torch import nn
from torch.nn import functional as F

from elmo_plugin.engine.backends.base import Backend
from elmo_plugin.engine.character_encoder import CharacterCnnEncoder
from elmo_plugin.engine.errors import ShapeError
from elmo_plugin.engine.lexicon import (
    BEGIN_SENTENCE_WORD,
    END_SENTENCE_WORD,
    WORD_COLUMNS,
    WORDS_PER_COLUMN,
    boundary_row,
    num_character_ids,
)
from elmo_plugin.engine.options import BiLmOptions


class LexiconEncoder(CharacterCnnEncoder):
    """
    Words and characters to vectors (ELMoForManyLangs).

    There the vector of the word and the output of the CNN stand side by side and are projected. That is the sum of two
    projections, which is how it is computed here.

    # Parameters

    options : with a lexicon.
    """

    def __init__(self, options: BiLmOptions) -> None:
        cnn, lexicon, width = options.char_cnn, options.lexicon, options.lstm.projection_dim
        assert cnn is not None and lexicon is not None, options
        super().__init__(cnn, width)
        self.char_embedding = nn.Parameter(torch.empty(num_character_ids(len(lexicon.characters)), cnn.embedding_dim))
        self.projection = nn.Linear(cnn.num_filters, width)
        self.word_embedding: Optional[nn.Parameter] = None
        self.word_projection: Optional[nn.Linear] = None
        if options.needs_vocabulary:
            assert options.n_tokens_vocab is not None, options
            self.word_embedding = nn.Parameter(torch.zeros(options.n_tokens_vocab + 1, lexicon.word_dim))
            self.word_embedding.data[1:].uniform_(-1.0, 1.0)
            self.word_projection = nn.Linear(lexicon.word_dim, width, bias=False)
        rows = [boundary_row(word, cnn.max_characters_per_token) for word in (BEGIN_SENTENCE_WORD, END_SENTENCE_WORD)]
        self.register_buffer("boundaries", torch.stack([torch.from_numpy(row) for row in rows]), persistent=False)
        self.reset_parameters()

    def check(self, ids: torch.Tensor) -> None:
        if ids.dim() != 3 or ids.shape[2] != WORD_COLUMNS + self._max_characters:
            raise ShapeError(
                f"ids have shape {tuple(ids.shape)}, expected (batch, tokens, {WORD_COLUMNS + self._max_characters}): "
                'this biLM knows words and characters by name, not bytes. Give the token indexer "elmo" the same '
                '"weights".'
            )
        super().check(ids[:, :, WORD_COLUMNS:])
        if self.word_embedding is None or not ids.numel():
            return
        words, columns = _word_ids(ids), ids[:, :, :WORD_COLUMNS]
        size = self.word_embedding.shape[0]
        if int(columns.min()) < 0 or int(words.max()) >= size:
            raise ShapeError(
                f"ids of words lie between {int(columns.min())} and {int(words.max())}, expected 0 to {size - 1} for "
                "this biLM. Check that the token indexer and the biLM use the same weights."
            )

    def encode(self, ids: torch.Tensor, backend: Optional[Backend] = None) -> torch.Tensor:
        vectors = super().encode(ids[:, WORD_COLUMNS:], backend)
        if self.word_embedding is None or self.word_projection is None:
            return vectors
        return vectors + self.word_projection(F.embedding(_word_ids(ids), self.word_embedding))


def _word_ids(ids: torch.Tensor) -> torch.Tensor:
    """Return the place of each word in the table, from the two columns that hold it."""
    return ids[..., 0].long() * WORDS_PER_COLUMN + ids[..., 1]
