"""The senses of the words of a text, found again by their sentences."""

from typing import Dict, Optional, Sequence, Tuple

from elmo_plugin.probes.senses import SenseText


class KnownSenses:
    """
    Says which sense a token has.

    # Parameters

    text : with senses.
    """

    def __init__(self, text: SenseText) -> None:
        self._senses: Dict[Tuple[str, ...], Dict[int, str]] = {}
        for word in text.words:
            of_sentence = self._senses.setdefault(tuple(text.sentences[word.sentence]), {})
            for position in range(word.start, word.stop):
                of_sentence.setdefault(position, word.senses[0])

    def find(self, tokens: Sequence[str], position: int) -> Optional[str]:
        """
        Find the sense of a token.

        # Parameters

        tokens : of its sentence; of equal sentences the first that knows the token answers.
        position : of the token among them.

        # Returns

        The first of its sense keys; None where the text has no such sentence, or no sense for the token.
        """
        return self._senses.get(tuple(tokens), {}).get(position)
