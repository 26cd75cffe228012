"""
What the cells of a task differ in is what their names say: where ELMo enters, which layers, the penalty on their mix.

A cell with ELMo elsewhere would train as well, and be printed as what it is not.
"""

from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

import pytest

pytest.importorskip("allennlp")

from elmo_plugin.reproduction.cells import resolve  # noqa: E402
from tests.experiments import places  # noqa: E402

ROOT = Path(__file__).parent.parent.parent / "experiments"
CELLS = [path for folder in ("table1", "table2", "table3", "figure1") for path in sorted((ROOT / folder).glob("*"))]
#: on the mix of layers, in the paper's models
PENALTIES: Dict[str, Optional[float]] = {
    "coref": None,
    "ner": 0.1,
    "snli": 0.001,
    "squad": None,
    "srl": 0.001,
    "sst": 0.001,
}
DIM = 256  # of the biLM's vectors
#: of the training data; what is not here has all
SHARES = {("srl", "small"): 0.2, ("sst", "small"): 0.3}


def dictionaries(value: Any) -> Iterator[Dict[str, Any]]:
    """All that are somewhere in a configuration."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from dictionaries(inner)


def penalties(model: Dict[str, Any]) -> List[float]:
    """On the weights of layers."""
    regexes = model.get("regularizer", {}).get("regexes", [])
    return [penalty["alpha"] for pattern, penalty in regexes if "mixes" in pattern]


@pytest.mark.parametrize("scale", ["small", "paper"])
@pytest.mark.parametrize("path", CELLS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_cell_is_what_its_name_says(path: Path, scale: str) -> None:
    variables = {"SCALE": scale, "BILM": "builtin", "DATA": "", "VECTORS": ""}
    content = resolve(path, variables)
    model = content["model"]
    task, _, variant = path.stem.partition("_")
    kind, _, number = variant.partition("_")
    where = places.where(path)
    penalty = float(number) if kind == "lambda" else PENALTIES[task]
    embedders = model["text_field_embedder"]["token_embedders"]
    around = [part for part in dictionaries(model) if part.get("type") == "elmo_output"]
    fractions = {part["fraction"] for part in dictionaries(content["dataset_reader"]) if "fraction" in part}

    assert "words" in embedders
    if kind == "baseline":
        assert "bilm" not in embedders and not around and not penalties(model)
    else:
        bilm = embedders["bilm"]
        assert bilm.get("layers", "all") == ("last" if kind == "last" else "all")
        assert bilm.get("num_mixes", 1) == (2 if where == "both" else 1)
        assert bool(around) == (where != "input")
        # That of the input stands in front of that of the output, which goes around. Sentiment has a second layer
        # for it to go around, where it stands behind all other columns.
        starts = {part["elmo_start"] for part in around if "elmo_encoder" not in part}
        assert starts == ({DIM if where == "both" else 0} if around else set())
        assert penalties(model) == ([] if penalty is None else [penalty])
    share = SHARES.get((task, scale), 1.0) * (float(number) / 100 if path.parent.name == "figure1" else 1.0)
    assert sorted(fractions) == ([] if share == 1.0 else [pytest.approx(share)])
