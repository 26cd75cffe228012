"""A biLM as a folder that others can use: weights and options for AllenNLP and bilm-tf, vocabulary, card."""

import json
from pathlib import Path
from typing import Any, Dict, List, Optional, Union

from elmo_plugin.corpus.vocabulary import write_vocabulary
from elmo_plugin.formats import write_weights
from elmo_plugin.formats.atomic import replacing
from elmo_plugin.formats.weight_set import WeightSet


def write_bilm_folder(
    weights: WeightSet,
    folder: Union[str, Path],
    metrics: Optional[Dict[str, Any]] = None,
    configuration: Optional[Dict[str, Any]] = None,
) -> None:
    """
    Write `weights.hdf5`, `options.json`, `vocabulary.txt` where there is a vocabulary, and a card, `README.md`.

    # Parameters

    weights : of a trained model's `weight_set()`, or `read_weights` of an archive or of any checkpoint.
    folder : made if needed; files of these names are replaced, a card that exists is not.
    metrics : of the training, for the card.
    configuration : of the training, for the card.
    """
    folder = Path(folder)
    write_weights(weights, folder / "weights.hdf5")
    if weights.vocabulary is not None:
        with replacing(folder / "vocabulary.txt") as temporary:
            write_vocabulary(weights.vocabulary, temporary)
    card = folder / "README.md"
    if not card.exists():  # it may have been completed by hand
        with replacing(card) as temporary:
            temporary.write_text(_card(weights, metrics or {}, configuration), encoding="utf-8")


def _card(weights: WeightSet, metrics: Dict[str, Any], configuration: Optional[Dict[str, Any]]) -> str:
    lstm, cnn = weights.options.lstm, weights.options.char_cnn
    rows = [
        ("LSTMs", f"{lstm.n_layers} layers of {lstm.dim} cells, projection {lstm.projection_dim}, in each direction"),
        ("vectors", f"{weights.options.output_dim} wide, {weights.options.num_layers} layers"),
    ]
    if cnn is None:
        rows.append(("token layer", "words"))
    else:
        rows.append(("token layer", f"characters, {cnn.num_filters} filters, {cnn.n_highway} highway layers"))
    softmax = "none" if weights.softmax is None else f"over {len(weights.softmax['bias']):,} words"
    rows.append(("softmax", softmax))
    if weights.vocabulary is not None:
        rows.append(("vocabulary", f"{len(weights.vocabulary):,} words in `vocabulary.txt`"))
    lines = ["# A biLM", "", "| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows), ""]
    scores = {name: value for name, value in metrics.items() if name.startswith("best_validation_")}
    if scores:
        lines += ["## Scores on held-out text", "", "| | |", "|---|---|"]
        lines += [f"| {name[len('best_validation_') :]} | {value:,.4f} |" for name, value in sorted(scores.items())]
        lines.append("")
    lines += [*_TO_BE_WRITTEN, ""]
    if configuration is not None:
        lines += ["## Configuration of the training", "", "```json", json.dumps(configuration, indent=2), "```", ""]
    return "\n".join(lines)


_TO_BE_WRITTEN: List[str] = [
    "## What only its maker knows",
    "",
    "Which text it has read, under which licences, in which language; what it should not be used for.",
]
