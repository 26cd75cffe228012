"""A model's metric, item by item."""

from typing import Any, Dict, Iterable, List, Sequence, Tuple

import numpy as np

from elmo_plugin.reproduction.measures import MEASURES, OF_SCORE, Measure, measure_of


class ItemsError(ValueError):
    """Items cannot be scored one by one, or are not those of another scoring."""


def score_items(
    model: Any, score: str, instances: Sequence[Any], batch_size: int, cuda_device: int = -1
) -> Tuple[str, List[List[float]]]:
    """
    Score instances, in their order.

    # Parameters

    model : of AllenNLP; its metrics are reset.
    score : as in the model's metrics.

    # Returns

    The name of the measure, in `MEASURES`, and the numbers that each item adds.

    # Raises

    `ItemsError` where no metric of the model gives that score by sums over items, or there is no item.
    """
    import torch
    from allennlp.data.batch import Batch
    from allennlp.nn.util import move_to_device

    if not instances:
        raise ItemsError("no item to score; expected at least one in the part of the data.")
    model.eval()
    model.get_metrics(reset=True)
    recorder = _record(model, score)
    try:
        with torch.no_grad():
            for start in range(0, len(instances), batch_size):
                batch = Batch(instances[start : start + batch_size])
                batch.index_instances(model.vocab)
                model(**move_to_device(batch.as_tensor_dict(), cuda_device))
        total = model.get_metrics(reset=True)[score]
    finally:
        recorder.remove()
    ours = float(recorder.measure.score(np.array(recorder.numbers).sum(axis=0)))
    if abs(total - ours) > 1e-6:
        raise ItemsError(f"{score} of the items together is {ours}, of the whole part {total}: not a sum over items.")
    return recorder.name, recorder.numbers


class _Recorder:
    """
    Takes the place of a metric, hands everything on to it one item at a time, and keeps what each item adds.

    # Parameters

    holder, key : where the metric is.
    name : of its measure.
    """

    def __init__(self, holder: Dict[str, Any], key: str, name: str) -> None:
        self._metric, self._holder, self._key = holder[key], holder, key
        self.name = name
        self.measure: Measure = MEASURES[name]
        self.numbers: List[List[float]] = []
        holder[key] = self

    def __call__(self, *arguments: Any) -> None:
        for one in _one_by_one(arguments):
            before = self.measure.sums(self._metric)
            self._metric(*one)
            after = self.measure.sums(self._metric)
            self.numbers.append([float(new - old) for new, old in zip(after, before)])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._metric, name)

    def remove(self) -> None:
        """Put the metric back."""
        self._holder[self._key] = self._metric


def _one_by_one(arguments: Sequence[Any]) -> Iterable[Sequence[Any]]:
    """Take the arguments of a metric, which are of a batch each or None, apart; some metrics are given single items."""
    if isinstance(arguments[0], str):
        return [arguments]
    rows = range(len(arguments[0]))
    return ([None if whole is None else whole[row : row + 1] for whole in arguments] for row in rows)


def _record(model: Any, score: str) -> _Recorder:
    for key, value in vars(model).items():
        holder, inner = (value, score) if isinstance(value, dict) and score in value else (vars(model), key)
        name = measure_of(holder[inner], score) if score in OF_SCORE else None
        if name is not None:
            return _Recorder(holder, inner, name)
    raise ItemsError(
        f"{type(model).__name__} has no metric that gives {score!r} by sums over items; known are {OF_SCORE}."
    )
