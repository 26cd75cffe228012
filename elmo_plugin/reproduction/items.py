"""What a trained model makes of each item of its test or development part: for tests over items, and for the tables."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

import numpy as np

from elmo_plugin.formats.atomic import replacing
from elmo_plugin.reproduction import outcome
from elmo_plugin.reproduction.measures import MEASURES
from elmo_plugin.reproduction.recorder import ItemsError, score_items

#: in points: what other batches may change where vectors depend on batch mates (layer norm "batch", carried state)
_TOLERANCE = 1.0
#: the fields that have what an item is about, by one of AllenNLP's names
_TEXTS = ("passage", "premise", "text", "tokens")


@dataclass(frozen=True)
class Items:
    """
    A model and what it makes of each item.

    # Parameters

    score : the name of what the training is validated by.
    measure : how the numbers of the items make that score: a key of `MEASURES`.
    numbers : of each item.
    groups : the number of each item's text, 0, 1, ...: of the paragraph of a question, the premise of a hypothesis.
    digest : of the items' words and labels: equal for equal data.
    parameters : the model's weights: "all" and "trained".
    mixes : of ELMo layers, as `outcome.mixes_of` returns them.
    """

    score: str
    measure: str
    numbers: Sequence[Sequence[float]]
    groups: Sequence[int]
    digest: str
    parameters: Dict[str, int]
    mixes: List[Dict[str, Any]]

    def corpus_score(self) -> float:
        """The score of all items, a fraction of one."""
        return float(MEASURES[self.measure].score(np.array(self.numbers, dtype=float).sum(axis=0)))


def path_of(folder: Path, split: str) -> Path:
    """Where the items of a part are kept, in the folder of a training."""
    return folder / f"items_{split}.json"


def read(folder: Path, split: str) -> Optional[Items]:
    """
    Read what `evaluate` has written; None where it has not been called.

    # Raises

    `ItemsError` where the file holds something else.
    """
    path = path_of(folder, split)
    try:
        return _checked(Items(**json.loads(path.read_text(encoding="utf-8")))) if path.exists() else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ItemsError(f"{path}: not scored items ({error}). Remove it, and run again to score them anew.") from error


def _checked(items: Items) -> Items:
    if items.measure not in MEASURES:
        raise ValueError(f"measure {items.measure!r}, expected one of {sorted(MEASURES)}")
    numbers, width = np.array(items.numbers, dtype=float), MEASURES[items.measure].numbers
    if numbers.ndim != 2 or not len(numbers) or numbers.shape[1] != width:
        raise ValueError(f"numbers in the shape {numbers.shape}, expected rows of {width}")
    if not np.isfinite(numbers).all():
        raise ValueError("numbers that are not finite")
    count = len(numbers)
    if len(items.groups) != count or not all(type(group) is int and 0 <= group < count for group in items.groups):
        raise ValueError(f"{len(items.groups)} groups, expected for each item a number from 0 to {count - 1}")
    int(items.parameters["trained"])
    for mix in items.mixes:
        weights = np.array([*mix["weights"], mix["gamma"]], dtype=float)
        if not np.isfinite(weights).all() or len(mix["weights"]) != len(mix["layers"]):
            raise ValueError(f"a mix of the layers {mix['layers']} by {mix['weights']} and {mix['gamma']}")
        if not isinstance(mix["place"], str):
            raise ValueError(f"a mix at {mix['place']!r}")
    return items


def evaluate(folder: Path, split: str, data: Optional[str] = None) -> Items:
    """
    Let the model of a finished training score a part of its data item by item, and write that into its folder.

    # Parameters

    folder : of the training.
    split : "test" or "development".
    data : where its data are by now; None for where they were.

    # Raises

    `ItemsError` where the score is not the one that the training has reported, or the data have labels that the model
        does not know: they are others by now.
    `TrainingError` where there is no whole training.
    """
    import torch

    cuda_device = 0 if torch.cuda.is_available() else -1
    archive = outcome.load(folder / outcome.ARCHIVE, cuda_device)
    config = archive.config.as_dict(quiet=True)
    score = outcome.validation_metric(config)
    data = config[outcome.DATA_KEYS[split]] if data is None else data
    instances = list(archive.validation_dataset_reader.read(data))
    try:
        for instance in instances:
            instance.index_fields(archive.model.vocab)
    except KeyError as error:
        raise ItemsError(f"{data}: not the labels of the model in {folder}: {error.args[0]}") from error
    measure, numbers = score_items(archive.model, score, instances, _batch_size(config), cuda_device)
    items = Items(
        score,
        measure,
        numbers,
        groups_of(instances),
        digest(instances),
        _sizes(archive.model),
        outcome.mixes_of(archive.model, config["model"]),
    )
    reported = outcome.collect(folder).score(split)
    if abs(100 * (items.corpus_score() - reported)) > _TOLERANCE:
        raise ItemsError(
            f"{folder}: {score} on {data} is {items.corpus_score():.4f}, but {outcome.METRICS} says {reported:.4f}. "
            "The data have changed since the training: bring them back, or remove the folder to train again."
        )
    with replacing(path_of(folder, split)) as part:
        part.write_text(json.dumps(asdict(items)), encoding="utf-8")
    return items


def digest(instances: Iterable[Any]) -> str:
    """Name items by their words, labels and answers, in their order."""
    from elmo_plugin.adapters.instance_content import content_of

    result = hashlib.sha256()
    for instance in instances:
        result.update(content_of(instance))
        # Those of a question are in none of the fields that a model trains on.
        answers = getattr(instance.fields.get("metadata"), "metadata", {}).get("answer_texts", [])
        result.update("".join(f"{len(answer)} {answer}" for answer in answers).encode())
    return result.hexdigest()[:16]


def groups_of(instances: Iterable[Any]) -> List[int]:
    """
    Number the texts of items, in their order; items have one number where what they are about has the same words.

    # Raises

    `ItemsError` where no field has such a text.
    """
    numbers: Dict[Tuple[str, ...], int] = {}
    return [numbers.setdefault(_text_of(instance), len(numbers)) for instance in instances]


def _text_of(instance: Any) -> Tuple[str, ...]:
    for name in _TEXTS:
        if name in instance.fields:
            return tuple(token.text for token in instance.fields[name].tokens)
    raise ItemsError(f"an item has the fields {sorted(instance.fields)}, expected a text in one of {list(_TEXTS)}.")


def _batch_size(config: Dict[str, Any]) -> int:
    loader = config.get("validation_data_loader") or config["data_loader"]
    return loader.get("batch_size") or loader["batch_sampler"]["batch_size"]


def _sizes(model: Any) -> Dict[str, int]:
    parameters = list(model.parameters())
    trained = sum(parameter.numel() for parameter in parameters if parameter.requires_grad)
    return {"all": sum(parameter.numel() for parameter in parameters), "trained": trained}
