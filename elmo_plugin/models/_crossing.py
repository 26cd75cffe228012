"""The choice of mentions that do not cross each other (Lee et al. 2017, section 5)."""

from typing import Dict, List, Sequence, Tuple

import torch
from allennlp.nn import util
from torch import nn

from elmo_plugin.models._documents import Holder


class NonCrossingScorer(nn.Module):
    """
    Score spans, and give all but the chosen ones the lowest score, so that AllenNLP's model keeps just those.

    # Parameters

    scorer : gives `(1, spans, 1)`.
    holder : of the document that the spans are of; what is behind its spans is padding.
    """

    def __init__(self, scorer: nn.Module, holder: Holder) -> None:
        super().__init__()
        self._scorer = scorer
        self._holder = holder

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        scores = self._scorer(inputs)
        document = self._holder.get()
        order = scores.detach()[0, : len(document.spans), 0].argsort(descending=True)
        rejected = torch.ones_like(scores, dtype=torch.bool)
        rejected[0, choose(order.tolist(), document.spans.tolist(), document.spans_to_keep)] = False
        return scores.masked_fill(rejected, util.min_value_of_dtype(scores.dtype) / 4)


def choose(order: Sequence[int], spans: Sequence[Sequence[int]], number: int) -> List[int]:
    """
    Take spans by falling score, leaving out those that cross one that was taken: they overlap, and neither is part of
    the other. Where fewer than `number` are left, the best of those that cross make it up.

    # Parameters

    order : places in `spans`, the best first.
    spans : first and last token of each.
    number : of spans to take.

    # Returns

    Places in `spans`.
    """
    chosen: List[int] = []
    crossing: List[int] = []
    # Of the spans taken: the furthest end for each first token, and the furthest beginning for each last one.
    end_of: Dict[int, int] = {}
    start_of: Dict[int, int] = {}
    for index in order:
        if len(chosen) == number:
            break
        first, last = spans[index]
        if _crosses((first, last), end_of, start_of):
            crossing.append(index)
            continue
        chosen.append(index)
        end_of[first] = max(end_of.get(first, last), last)
        start_of[last] = min(start_of.get(last, first), first)
    return chosen + crossing[: number - len(chosen)]


def _crosses(span: Tuple[int, int], end_of: Dict[int, int], start_of: Dict[int, int]) -> bool:
    first, last = span
    starts_inside = any(end_of.get(token, last) > last for token in range(first + 1, last + 1))
    return starts_inside or any(start_of.get(token, first) < first for token in range(first, last))
