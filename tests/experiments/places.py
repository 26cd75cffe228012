"""Where ELMo enters the models of the tables, by the names of their cells."""

from pathlib import Path
from typing import Dict, List, Optional

#: in the paper's models
PLACES: Dict[str, str] = {
    "coref": "input",
    "ner": "input",
    "snli": "both",
    "squad": "both",
    "srl": "input",
    "sst": "both",
}


def where(path: Path) -> Optional[str]:
    """Return "input", "output" or "both" ends of the encoder; None where a cell has no ELMo."""
    task, _, variant = path.stem.partition("_")
    if variant.startswith("baseline"):
        return None
    return variant if path.parent.name == "table3" else PLACES[task]


def places(path: Path) -> List[str]:
    """Return one place for each mix of layers."""
    entry = where(path)
    return [] if entry is None else ["input", "output"] if entry == "both" else [entry]
