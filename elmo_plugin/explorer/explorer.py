"""All that the page is about, loaded once: a biLM, its softmax, an index, a text with senses."""

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import List, Optional, Sequence, Tuple

from elmo_plugin.embedding.embedder import build_bilm
from elmo_plugin.embedding.scoring import LanguageModel, LogProbabilities
from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.explorer.embedder import SharedEmbedder
from elmo_plugin.explorer.occurrences import Occurrence, SenseOccurrences, on_page
from elmo_plugin.explorer.text import PageError
from elmo_plugin.formats import read_weights
from elmo_plugin.formats.weight_set import WeightSet
from elmo_plugin.neighbors.index import TokenIndex
from elmo_plugin.neighbors.query import IndexQuery
from elmo_plugin.probes.senses import read_sense_texts

_SOFTMAX_OF_ONES_OWN = (
    "A softmax for any biLM is trained by allennlp train experiments/finetuning/softmax.jsonnet (docs/pretraining.md, "
    "Fine-tuning); start this page with the archive of that training as --weights."
)
_WORDS_REMEMBERED = 256
_WARM_UP = ["The", "first", "sentence", "takes", "longer", "."]


@dataclass(frozen=True)
class Choices:
    """
    What to load.

    # Parameters

    weights : the biLM; None for that of the index, or "builtin".
    state : "reset" or "warm"; None for that of the index, or "warm".
    backend : "auto", or the name of a backend.
    device : "cpu", "cuda" or "cuda:N".
    index : a folder of `allennlp elmo-neighbors build`; None for neighbours from the page.
    senses : files or patterns of text with senses.
    """

    weights: Optional[str] = None
    state: Optional[str] = None
    backend: str = "auto"
    device: str = "cpu"
    index: Optional[Path] = None
    senses: Sequence[str] = ()


class Explorer:
    """
    Answers questions about sentences; threads may ask at the same time.

    # Parameters

    weights : the biLM, with its softmax where it has one; the page calls it by its `source`.
    choices : what else to load.

    # Raises

    `OptionsError` where the index was built with another biLM or state; the errors of reading its parts.
    """

    def __init__(self, weights: WeightSet, choices: Choices) -> None:
        index = None if choices.index is None else TokenIndex(choices.index)
        state, precision = choices.state or "warm", "float32"
        if index is not None:
            _check_state(choices, index)
            state, precision = index.description["state"], index.description["precision"]
        bilm = build_bilm(weights, state=state, backend=choices.backend, device=choices.device, precision=precision)
        self.name = weights.source
        self.embedder = SharedEmbedder(bilm, weights.vocabulary)
        self.index = index
        self.query = None if index is None else IndexQuery(index, self.embedder)
        self.senses: Optional[SenseOccurrences] = None
        if choices.senses:
            self.senses = SenseOccurrences(read_sense_texts(choices.senses))
        self._language_model: Optional[LanguageModel] = None
        #: why there is no surprisal; empty where there is
        self.missing_softmax = ""
        try:
            self._language_model = LanguageModel(bilm, weights)
        except OptionsError as error:
            self.missing_softmax = f"{error} {_SOFTMAX_OF_ONES_OWN}"
        # Reads through the text of the index.
        self._in_index = lru_cache(maxsize=_WORDS_REMEMBERED)(self._find_in_index)
        self._warm_up()

    @property
    def num_layers(self) -> int:
        """Layers of the biLM, the token layer included."""
        return self.embedder.bilm.num_layers

    def log_probabilities(self, sentence: Sequence[str]) -> LogProbabilities:
        """
        Score a sentence.

        # Raises

        `PageError` where the weights have no softmax, or no vocabulary for it.
        """
        if self._language_model is None:
            raise PageError(self.missing_softmax)
        with self.embedder.turn:
            return self._language_model.log_probabilities(sentence)

    def occurrences(self, form: str, limit: int) -> Tuple[List[Occurrence], int]:
        """
        Find a word outside the page: in the text with senses, or else in the index.

        # Parameters

        form : as it is spelled.
        limit : how many, at most.

        # Returns

        Occurrences, and how many there are.
        """
        if self.senses is not None:
            return self.senses.find(form, limit)
        return ([], 0) if self.index is None else self._in_index(form, limit)

    def on_page(self, sentences: Sequence[Sequence[str]], form: str) -> List[Occurrence]:
        """Find the tokens of the page with the same form, or with a lemma in common where lemmas are known."""
        lemmas_of = (lambda _: set()) if self.senses is None else self.senses.lemmas
        return on_page(sentences, form, lemmas_of)

    def _find_in_index(self, form: str, limit: int) -> Tuple[List[Occurrence], int]:
        assert self.index is not None
        found = []
        for number in self.index.occurrences(form, limit).tolist():
            place = self.index.place(number)
            found.append(Occurrence(place.tokens, place.position, place.position + 1, f"line {place.line + 1}"))
        return found, self.index.count(form)

    def _warm_up(self) -> None:
        """Let nobody wait for what is made once."""
        self.embedder.embed([_WARM_UP])
        if self._language_model is not None:
            self.log_probabilities(_WARM_UP)


def load(choices: Choices) -> Explorer:
    """Read what was chosen; raises as `Explorer` and `read_weights` do."""
    name = choices.weights
    if name is None:
        name = "builtin" if choices.index is None else str(TokenIndex(choices.index).description["weights"])
    return Explorer(replace(read_weights(name), source=name), choices)


def _check_state(choices: Choices, index: TokenIndex) -> None:
    found = index.description["state"]
    if choices.state not in (None, found):
        raise OptionsError(
            f"state is {choices.state!r}, but the index {choices.index} was built with state {found!r}, and vectors of "
            "two states do not compare. Leave --state out, or build the index with it."
        )
