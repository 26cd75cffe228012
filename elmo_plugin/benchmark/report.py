"""Results as JSON: what is written is complete after every case, so that a run that is cut off is not lost."""

import json
import math
import os
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, Dict, Union

#: grows when a field changes its meaning
FORMAT = 1


class ReportError(ValueError):
    """A file is not a result of this benchmark."""


def start(machine: Dict[str, Any], arguments: Dict[str, Any]) -> Dict[str, Any]:
    """
    Begin a report.

    # Returns

    - `format`: 1
    - `machine`: see `machine.describe`
    - `arguments`: what was chosen
    - `text`: where the sentences came from and what they are like
    - `absent`: peer, with its precision where that is not float32, to the reason why it cannot run here
    - `rates`: a list of `roofline.Rates`
    - `speed`: a list of `speed.CaseResult`
    - `indexing`: a list of `indexing.IndexingResult`
    - `memory`: a list of `memory.MemoryResult`
    """
    return {
        "format": FORMAT,
        "machine": machine,
        "arguments": arguments,
        "text": {},
        "absent": {},
        "rates": [],
        "speed": [],
        "indexing": [],
        "memory": [],
    }


def plain(value: Any) -> Any:
    """Turn dataclasses, paths and numbers that JSON does not know into what it knows."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return value.name  # no paths of this machine
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def write(report: Dict[str, Any], path: Path) -> None:
    """Write a report; an older one stays until the new one is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(json.dumps(report, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(temporary, path)


def read(path: Union[str, Path]) -> Dict[str, Any]:
    """
    Read a report.

    # Raises

    `ReportError` where the file is something else or was written by another version.
    """
    try:
        report = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReportError(f"{path}: {error}; expected the results.json of a benchmark.") from error
    found = report.get("format") if isinstance(report, dict) else None
    if found != FORMAT:
        raise ReportError(f"{path}: format is {found!r}, expected {FORMAT}. Measure again with this version.")
    return report
