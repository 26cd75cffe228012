"""What the training of a language model starts from: a vocabulary, and options or the weights of a biLM."""

from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional

from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from elmo_plugin.adapters.weight_sources import find_weights
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.engine.words import SPECIAL_WORDS
from elmo_plugin.formats.weight_set import WeightSet


def vocabulary_words(vocab: Vocabulary, namespace: str, where: str) -> List[str]:
    """Return the words of a language model in order; refuse a vocabulary that was not made for one."""
    index: Mapping[int, str] = vocab.get_index_to_token_vocabulary(namespace)
    words = [index[i] for i in range(len(index))]
    if tuple(words[: len(SPECIAL_WORDS)]) != SPECIAL_WORDS or len(words) == len(SPECIAL_WORDS):
        raise ConfigurationError(
            f"{where}: the vocabulary namespace {namespace!r} starts with {words[:4]} and has {len(words)} entries; "
            f"expected {', '.join(SPECIAL_WORDS)} and words by falling frequency. Use the vocabulary "
            '{"type": "elmo_corpus", "corpus": ...}.'
        )
    return words


def starting_options(
    options: Optional[Dict[str, Any]],
    weights: Optional[str],
    new_softmax: bool,
    start: Optional[WeightSet],
    words: List[str],
    where: str,
) -> BiLmOptions:
    """
    Return the architecture, from the configuration or from the weights.

    # Parameters

    options, weights, new_softmax : as the configuration gives them; one of the first two.
    start : the weights, read.
    words : the vocabulary; a word-level model whose options leave `n_tokens_vocab` out gets as many.
    where : what to call the model in messages.
    """
    if (options is None) == (weights is None):
        raise ConfigurationError(f"{where}: give either the options of a new biLM, or the weights to train on.")
    if new_softmax and weights is None:
        raise ConfigurationError(f"{where}: new_softmax belongs to weights; the softmax of a new biLM is new.")
    if start is not None:
        found = start.options
    else:
        content = dict(options or {})
        if content.get("char_cnn") is None:
            content.setdefault("n_tokens_vocab", len(words))
        found = BiLmOptions.from_dict(content, source=where)
    if found.lexicon is not None:
        raise ConfigurationError(
            f"{where}: the biLM knows its characters by name (ELMoForManyLangs), but the reader 'elmo_corpus' gives "
            "the bytes of words. Such a biLM cannot be trained; the token embedder 'elmo' can use it and tune it."
        )
    if found.n_tokens_vocab not in (None, len(words)):
        raise ConfigurationError(
            f"{where}: the options say n_tokens_vocab {found.n_tokens_vocab}, but the vocabulary has {len(words)} "
            "words. Set n_tokens_vocab to that, or use the vocabulary that the options were made for."
        )
    return found


def starting_weights(
    weights: str, words: List[str], new_softmax: bool, serialization_dir: Optional[str], where: str
) -> WeightSet:
    """Read a biLM to train on; its softmax, if it is kept, must be that of the vocabulary."""
    found = find_weights(weights, serialization_dir=serialization_dir, softmax=True)
    if new_softmax:
        return _without_softmax(found, len(words))
    if found.softmax is None:
        raise ConfigurationError(
            f'{where}: {weights} comes without a softmax. Train one first, with "new_softmax": true and the biLM '
            "frozen (experiments/finetuning/softmax.jsonnet), and go on from the archive of that training."
        )
    n_words = len(found.softmax["bias"])
    if n_words != len(words) or found.vocabulary not in (None, words):
        raise ConfigurationError(
            f"{where}: the vocabulary has {len(words)} words, but the softmax of {weights} is over {n_words} others. "
            'Keep the vocabulary of the biLM: "vocabulary": {"type": "elmo_corpus", "weights": ...}.'
        )
    return found


def _without_softmax(found: WeightSet, n_words: int) -> WeightSet:
    options = found.options
    if options.n_tokens_vocab is not None and not options.is_word_level:
        options = replace(options, n_tokens_vocab=n_words)  # a remark of the last training
    return replace(found, options=options, softmax=None, vocabulary=None)
