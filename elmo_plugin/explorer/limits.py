"""How much the page takes, so that one visitor does not keep the others waiting."""

from typing import NamedTuple


class Limits(NamedTuple):
    """
    What is refused beyond.

    # Parameters

    characters : typed or pasted.
    sentences, words : of the text.
    words_in_a_sentence : of the longest sentence.
    characters_in_a_word : of the longest word.
    upload : bytes of an archive.
    unpacked : bytes that an archive unpacks to.
    mixes : of layers, shown at once.
    request : bytes of any other request.
    """

    characters: int = 20_000
    sentences: int = 60
    words: int = 1_000
    words_in_a_sentence: int = 99  # of 100 choices and more Dash draws a part alone, and no word can be chosen
    characters_in_a_word: int = 200
    upload: int = 2 << 30
    unpacked: int = 4 << 30
    mixes: int = 24
    request: int = 1 << 20


LIMITS = Limits()
