"""
The token layer of a biLM: one context-insensitive vector per word.

Three variants behind one interface, `encoder_base`: the character CNN, that with a table of words beside it, and a
table of word vectors alone. Equal words are encoded once, whatever the size of the batch.
"""

from typing import Optional, Tuple

import torch
from torch import nn
from torch.nn import functional as F

from elmo_plugin.engine.backends.base import Backend
from elmo_plugin.engine.character_encoder import CharacterCnnEncoder
from elmo_plugin.engine.encoder_base import TokenEncoder, check_range, holds_integers
from elmo_plugin.engine.errors import ShapeError
from elmo_plugin.engine.lexicon_encoder import LexiconEncoder
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.engine.words import BEGIN_SENTENCE_ID, END_SENTENCE_ID


def build_token_encoder(options: BiLmOptions) -> TokenEncoder:
    """Return the token encoder that the options describe, with random weights."""
    if options.lexicon is not None:
        return LexiconEncoder(options)
    if options.char_cnn is not None:
        return CharacterCnnEncoder(options.char_cnn, options.lstm.projection_dim)
    assert options.n_tokens_vocab is not None, options
    return WordEncoder(options.n_tokens_vocab, options.lstm.projection_dim)


class WordEncoder(TokenEncoder):
    """
    A table of word vectors, for models without characters.

    # Parameters

    num_words : words of the vocabulary, the special ones included.
    dim : width of a vector.
    """

    batch_ndim = 2

    def __init__(self, num_words: int, dim: int) -> None:
        super().__init__()
        self.word_embedding = nn.Parameter(torch.empty(num_words + 1, dim))
        self.register_buffer("boundaries", torch.tensor([BEGIN_SENTENCE_ID, END_SENTENCE_ID]), persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the vectors as bilm-tf does."""
        with torch.no_grad():
            self.word_embedding.uniform_(-1.0, 1.0)
            self.word_embedding[0] = 0.0

    def check(self, ids: torch.Tensor) -> None:
        if ids.dim() != 2 or not holds_integers(ids):
            raise ShapeError(
                f"ids have shape {tuple(ids.shape)} and dtype {ids.dtype}, expected whole numbers of shape (batch, "
                'tokens): this biLM reads words, not characters. Give the token indexer "elmo" the same "weights".'
            )
        check_range(ids, self.word_embedding.shape[0], "word ids")

    def unique(self, ids: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        words, index = torch.unique(ids, return_inverse=True)
        return words, index

    def encode(self, ids: torch.Tensor, backend: Optional[Backend] = None) -> torch.Tensor:
        return F.embedding(ids, self.word_embedding)
