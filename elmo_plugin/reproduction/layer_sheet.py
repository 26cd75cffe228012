"""What the tasks have learned about the layers of the biLM (figure 2 of the paper), as a sheet."""

from dataclasses import dataclass
from typing import Any, Dict, List, Sequence, Tuple

from elmo_plugin.reproduction.results import Row
from elmo_plugin.reproduction.sheet import Sheet

LEGEND = (
    "tokens: the layer without context; the weights of the layers are those behind the softmax, and add up to 1; "
    "gamma: the factor of the whole."
)


@dataclass(frozen=True)
class LayerWeights:
    """
    The mix of one task at one place, as the mean over its trainings.

    # Parameters

    task : "ner", "sst", ...
    place : "input" or "output" of the task's encoder.
    weights : behind the softmax, by the number of the layer: 0 is the token layer.
    gamma : the factor of the whole.
    seeds : how many trainings there are.
    """

    task: str
    place: str
    weights: Dict[int, float]
    gamma: float
    seeds: int


def layer_weights(rows: Sequence[Row]) -> List[LayerWeights]:
    """Average what the models of each row have learned."""
    result = []
    for row in rows:
        by_place: Dict[str, List[Dict[str, Any]]] = {}
        for of_run in row.items.values():
            for mix in of_run.mixes:
                by_place.setdefault(mix["place"], []).append(mix)
        for place, mixes in by_place.items():
            means = [sum(column) / len(mixes) for column in zip(*(mix["weights"] for mix in mixes))]
            gamma = sum(mix["gamma"] for mix in mixes) / len(mixes)
            result.append(LayerWeights(row.cell.task, place, dict(zip(mixes[0]["layers"], means)), gamma, len(mixes)))
    return result


def layer_name(layer: int) -> str:
    """Name a layer of the biLM."""
    return "tokens" if layer == 0 else f"LSTM {layer}"


def band(weight: float) -> str:
    """Sort a weight as figure 2 of the paper does: "low" is below one third, "high" above two thirds, else "middle"."""
    return "low" if weight < 1 / 3 else "high" if weight > 2 / 3 else "middle"


def layer_sheet(title: str, rows: Sequence[Row]) -> Sheet:
    """Set a line for each task and place."""
    found = layer_weights(rows)
    layers = layers_of(found)
    columns = ("task", "ELMo at", *map(layer_name, layers), "gamma", "seeds")
    texts = []
    records = []
    for one in found:
        weights: List[Tuple[str, Any]] = [(layer_name(layer), one.weights.get(layer)) for layer in layers]
        numbers = ["" if weight is None else f"{weight:.2f}" for _, weight in weights]
        texts.append([one.task, one.place, *numbers, f"{one.gamma:.2f}", str(one.seeds)])
        records.append({"task": one.task, "place": one.place, **dict(weights), "gamma": one.gamma, "seeds": one.seeds})
    remarks = [remark for row in rows for remark in row.remarks]
    return Sheet(title, columns, texts, records, texts=2, remarks=remarks, legend=LEGEND)


def layers_of(found: Sequence[LayerWeights]) -> List[int]:
    """The numbers of all layers, in order."""
    return sorted({layer for one in found for layer in one.weights})
