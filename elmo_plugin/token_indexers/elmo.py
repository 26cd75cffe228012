"""The token indexer of the biLM."""

from typing import Any, Dict, List, Optional

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data.token_indexers import ELMoTokenCharactersIndexer, TokenIndexer
from allennlp.data.token_indexers.token_indexer import IndexedTokenList
from allennlp.data.tokenizers import Token
from allennlp.data.vocabulary import Vocabulary
from overrides import overrides

from elmo_plugin.adapters.weight_sources import find_architecture
from elmo_plugin.engine import characters
from elmo_plugin.engine.lexicon import Lexicon
from elmo_plugin.engine.word_rows import DTYPE
from elmo_plugin.engine.words import index_vocabulary, index_words

# Ids are kept narrow and become int64 when a batch is made.
LARGEST_CHARACTER_ID = np.iinfo(DTYPE).max


@TokenIndexer.register("elmo")
class ElmoIndexer(ELMoTokenCharactersIndexer):
    """
    Convert tokens to the ids of a biLM: rows of byte ids, or word ids where the biLM is word-level.

    The key is `elmo_tokens`, as that of AllenNLP's `elmo_characters`, which this class extends; the ids are equal
    to its ids too, and are made without a Python loop over characters. Registered as "elmo".

    # Parameters

    weights : the biLM, as for the token embedder `elmo`: gives the length of a row of ids, or the vocabulary of a
        word-level model. Not needed for a biLM of characters with rows of 50 (all published ones).
    max_characters_per_token : length of a row of ids, 50 unless `weights` says otherwise.
    namespace : not used, taken because `elmo_characters` takes it.
    tokens_to_add : ids of special tokens, each then a word of that one symbol; below 261 for a pretrained biLM.
    token_min_padding_length : pad to at least so many tokens.
    serialization_dir : passed by AllenNLP; while an archive is loaded, `weights` may be gone and is then not needed.

    # Raises

    `ConfigurationError` where `weights` and `max_characters_per_token` do not agree.
    """

    def __init__(
        self,
        weights: Optional[str] = None,
        max_characters_per_token: Optional[int] = None,
        namespace: str = "elmo_characters",
        tokens_to_add: Optional[Dict[str, int]] = None,
        token_min_padding_length: int = 0,
        serialization_dir: Optional[str] = None,
    ) -> None:
        super().__init__(namespace, tokens_to_add, token_min_padding_length)
        self._words: Optional[Dict[str, int]] = None
        self._lexicon: Optional[Lexicon] = None
        if weights is not None:
            options, vocabulary = find_architecture(weights, serialization_dir)
            found = options.max_characters_per_token
            if options.lexicon is not None:
                self._lexicon = Lexicon(options, vocabulary, weights)
            elif found is None:
                self._words = index_vocabulary(vocabulary, weights)
            if max_characters_per_token not in (None, found):
                raise ConfigurationError(
                    f"max_characters_per_token is {max_characters_per_token}, but the biLM of weights ({weights}) "
                    f"has {'no characters' if found is None else found}. Leave max_characters_per_token out."
                )
            max_characters_per_token = found
        if max_characters_per_token is None:
            max_characters_per_token = characters.MAX_CHARACTERS_PER_TOKEN
        self._max_characters = max_characters_per_token
        if self._max_characters < 3:
            raise ConfigurationError(
                f"max_characters_per_token is {self._max_characters}, expected at least 3: two word boundaries and "
                "one byte."
            )
        self._check_tokens_to_add()
        self._added_symbols = tuple(self._mapper.tokens_to_add.items())

    @overrides(check_signature=False)
    def get_empty_token_list(self) -> IndexedTokenList:
        return {"elmo_tokens": self._indices([])}

    @overrides(check_signature=False)
    def tokens_to_indices(self, tokens: List[Token], vocabulary: Vocabulary) -> Dict[str, Any]:
        """
        Convert tokens.

        # Returns

        `elmo_tokens`: an array, `(tokens, characters)` int16, or `(tokens,)` int64 for a word-level biLM.
        """
        return {"elmo_tokens": self._indices([token.ensure_text() for token in tokens])}

    @overrides(check_signature=False)
    def as_padded_tensor_dict(
        self, tokens: IndexedTokenList, padding_lengths: Dict[str, int]
    ) -> Dict[str, torch.Tensor]:
        """
        Pad with zeros, or cut, to `padding_lengths["elmo_tokens"]` tokens.

        # Returns

        `elmo_tokens`: int64, `(tokens, characters)`, or `(tokens,)` for a word-level biLM.
        """
        ids = np.asarray(tokens["elmo_tokens"])
        length = padding_lengths["elmo_tokens"]
        padded = np.zeros((length,) + ids.shape[1:], dtype=np.int64)
        padded[: len(ids)] = ids[:length]
        return {"elmo_tokens": torch.from_numpy(padded)}

    def _indices(self, words: List[str]) -> np.ndarray:
        if self._lexicon is not None:
            return self._lexicon.rows(words)
        if self._words is not None:
            return index_words(words, self._words)
        return characters.remembered_rows(self._max_characters, self._added_symbols).array(words)

    def _check_tokens_to_add(self) -> None:
        if not self._mapper.tokens_to_add:
            return
        if self._words is not None or self._lexicon is not None:
            raise ConfigurationError("tokens_to_add names bytes, but the biLM of weights knows its symbols by name.")
        for word, symbol in self._mapper.tokens_to_add.items():
            if not 0 <= symbol < LARGEST_CHARACTER_ID:
                raise ConfigurationError(
                    f"tokens_to_add: the id of {word!r} is {symbol}, expected 0 to {LARGEST_CHARACTER_ID - 1}, and "
                    f"below {characters.PADDING + 1} for a biLM."
                )
