"""Sentences and phrases of the Stanford Sentiment Treebank."""

from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple, Union

from allennlp.common.checks import ConfigurationError
from allennlp.common.file_utils import cached_path
from allennlp.data import DatasetReader, Instance, Token, TokenIndexer
from allennlp.data.fields import Field, LabelField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.data.tokenizers import SpacyTokenizer, Tokenizer
from nltk.tree import Tree
from overrides import overrides

#: from very negative to very positive
LABELS = ["0", "1", "2", "3", "4"]
# The treebank writes what would disturb its trees, and quotes, as the Penn Treebank does. biLMs read raw characters.
_ESCAPES = {"-LRB-": "(", "-RRB-": ")", "``": '"', "''": '"', "`": "'"}


@DatasetReader.register("sst_phrases")
class SstPhrasesReader(DatasetReader):
    """
    Read the treebank's files: a tree per line, each node with its sentiment. Registered as "sst_phrases".

    AllenNLP's `sst_tokens` takes either the sentences alone or every phrase down to the single words; Peters et al.
    (2018) train on the phrases of at least four tokens. Words come without the Penn Treebank's escapes (`-LRB-` is
    `(` again), because that is how a biLM has seen them.

    # Parameters

    token_indexers : of the words, `SingleIdTokenIndexer` under "tokens" by default.
    min_phrase_tokens : read phrases of at least so many tokens beside the whole sentences, which are read whatever
        their length; none: no phrases.
    tokenizer : of text that is not split into words yet, as the predictor `text_classifier` passes it on; spaCy's rules
        by default, which need no model. The files are split already.
    """

    def __init__(
        self,
        token_indexers: Optional[Dict[str, TokenIndexer]] = None,
        min_phrase_tokens: Optional[int] = None,
        tokenizer: Optional[Tokenizer] = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(manual_distributed_sharding=True, manual_multiprocess_sharding=True, **kwargs)
        self._token_indexers = token_indexers or {"tokens": SingleIdTokenIndexer()}
        self._min_phrase_tokens = min_phrase_tokens
        # The predictor looks for this name.
        self._tokenizer = tokenizer or SpacyTokenizer(language="blank:en", pos_tags=False)

    @overrides(check_signature=False)
    def _read(self, file_path: str) -> Iterable[Instance]:
        for number, line in self.shard_iterable(_numbered(file_path)):
            where = f"{file_path}, line {number}"
            for phrase in self._phrases(_parse(line, where)):
                if phrase.label() not in LABELS or not phrase.leaves():
                    raise ConfigurationError(
                        f"{where}: a phrase with the label {phrase.label()!r} and {len(phrase.leaves())} words, "
                        f"expected one of the labels {LABELS} and a word at least. Correct the line."
                    )
                yield self.text_to_instance([unescape(word) for word in phrase.leaves()], phrase.label())

    def _phrases(self, sentence: Tree) -> Iterable[Tree]:
        yield sentence
        if self._min_phrase_tokens is not None:
            for phrase in sentence.subtrees(lambda tree: len(tree.leaves()) >= self._min_phrase_tokens):
                if phrase is not sentence:
                    yield phrase

    @overrides(check_signature=False)
    def text_to_instance(self, tokens: Union[str, List[str]], label: Optional[str] = None) -> Instance:
        """
        Make an instance.

        # Parameters

        tokens : the words, or the text that they are in.
        label : "0" (very negative) to "4" (very positive).

        # Raises

        `ConfigurationError` where there is no word.
        """
        words = self._tokenizer.tokenize(tokens) if isinstance(tokens, str) else [Token(token) for token in tokens]
        if not any(word.text.strip() for word in words):
            raise ConfigurationError(f"sst_phrases: no word in {tokens!r}, expected at least one. Leave it out.")
        fields: Dict[str, Field] = {"tokens": TextField(words)}
        if label is not None:
            fields["label"] = LabelField(label)
        return Instance(fields)

    @overrides(check_signature=False)
    def apply_token_indexers(self, instance: Instance) -> None:
        instance["tokens"].token_indexers = self._token_indexers


def _numbered(path: str) -> Iterator[Tuple[int, str]]:
    """The lines that are not empty, with their numbers."""
    number = 0
    with open(cached_path(path), encoding="utf-8") as lines:
        try:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line
        except UnicodeDecodeError as error:
            raise ConfigurationError(f"{path}: near line {number + 1}: {error}; expected text in UTF-8.") from error


def _parse(line: str, where: str) -> Tree:
    try:
        return Tree.fromstring(line)
    except ValueError as error:
        raise ConfigurationError(
            f"{where}: {line[:40]!r}: {str(error).splitlines()[0]}. Expected one tree, as in '(3 (2 A) (3 (3 fine) "
            "(2 film)))', and no byte order mark in front. Correct the line."
        ) from error


def unescape(word: str) -> str:
    """Write a word of the treebank as raw text does."""
    if word in _ESCAPES:
        return _ESCAPES[word]
    return word.replace("-LRB-", "(").replace("-RRB-", ")").replace("\\/", "/").replace("\\*", "*")
