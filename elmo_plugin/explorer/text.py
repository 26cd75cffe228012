"""What was typed or pasted, as tokens; whatever it is."""

from typing import Any, List, Sequence

from elmo_plugin.corpus.raw_words import words_of
from elmo_plugin.engine.errors import EngineError
from elmo_plugin.explorer.limits import LIMITS, Limits


class PageError(EngineError, ValueError):
    """Something on the page cannot be shown; the message says why and what to do."""


def read_text(text: str, is_split: bool = False, limits: Limits = LIMITS) -> List[List[str]]:
    """
    Split text into sentences and tokens.

    # Parameters

    text : a sentence a line; blank lines are left out.
    is_split : the tokens are what is between white space; else words and punctuation are split as in the training text
        of the built-in biLM.

    # Returns

    The tokens of each sentence, at least one.

    # Raises

    `PageError` where the text is longer than the limits, or not Unicode.
    """
    check_length(len(text), limits)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise PageError(
            f"Character {error.start + 1} of the text is half of a character (U+{ord(text[error.start]):04X}), "
            "expected Unicode. Delete it."
        ) from error
    lines = text.split("\n")
    sentences = [line.split() if is_split else words_of(line) for line in lines]
    return _within(limits, [sentence for sentence in sentences if sentence])


def check_length(characters: int, limits: Limits = LIMITS) -> None:
    """Raise `PageError` where a text is too long."""
    if characters > limits.characters:
        raise PageError(
            f"The text has {characters:,} characters, more than the {limits.characters:,} that this page takes. "
            "Shorten it; for whole files there are allennlp elmo and allennlp elmo-neighbors."
        )


def check_sentences(data: Any, limits: Limits = LIMITS) -> List[List[str]]:
    """
    Check what a browser says that its sentences are: anybody can send anything.

    # Raises

    `PageError` where it cannot come from `read_text`.
    """
    is_right = isinstance(data, list) and all(
        isinstance(sentence, list)
        and sentence
        and all(isinstance(word, str) and word and not word.isspace() for word in sentence)
        for sentence in data
    )
    if not is_right:
        raise PageError("The browser sent no list of sentences. Load the page again.")
    if any("\ud800" <= character <= "\udfff" for sentence in data for word in sentence for character in word):
        raise PageError("The browser sent text that is not Unicode. Load the page again.")
    return _within(limits, data)


def check_place(sentences: Sequence[Sequence[str]], sentence: Any, word: Any) -> None:
    """Raise `PageError` where there is no such word."""
    is_there = (
        type(sentence) is int
        and type(word) is int
        and 0 <= sentence < len(sentences)
        and 0 <= word < len(sentences[sentence])
    )
    if not is_there:
        raise PageError("There is no such word in the text any more. Choose another one.")


def _within(limits: Limits, sentences: List[List[str]]) -> List[List[str]]:
    if len(sentences) > limits.sentences:
        raise PageError(
            f"The text has {len(sentences)} sentences, more than the {limits.sentences} that this page takes."
        )
    total = sum(map(len, sentences))
    if total > limits.words:
        raise PageError(f"The text has {total:,} words, more than the {limits.words:,} that this page takes.")
    for number, sentence in enumerate(sentences, start=1):
        if len(sentence) > limits.words_in_a_sentence:
            raise PageError(
                f"Sentence {number} has {len(sentence)} words, more than the {limits.words_in_a_sentence} that this "
                "page takes. Break it into several lines."
            )
        longest = max(map(len, sentence))
        if longest > limits.characters_in_a_word:
            raise PageError(
                f"Sentence {number} has a word of {longest} characters, more than the {limits.characters_in_a_word} "
                "that this page takes. Put spaces into it."
            )
    return sentences
