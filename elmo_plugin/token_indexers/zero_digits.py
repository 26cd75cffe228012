"""Words whose numbers are told by their form alone."""

import re

from allennlp.data import Token, TokenIndexer
from allennlp.data.token_indexers import SingleIdTokenIndexer
from overrides import overrides

_DIGIT = re.compile("[0-9]")


@TokenIndexer.register("zero_digits")
class ZeroDigitsTokenIndexer(SingleIdTokenIndexer):
    """
    AllenNLP's `single_id` with 0 for each digit: "1996-08-22" is "0000-00-00".

    For word vectors that are made so, as Senna's are (Peters et al. 2017). Takes the parameters of `single_id`.
    Registered as "zero_digits".
    """

    @overrides
    def _get_feature_value(self, token: Token) -> str:
        return _DIGIT.sub("0", super()._get_feature_value(token))
