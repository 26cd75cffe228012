"""Small texts with senses, in both formats."""

import gzip
import json
from pathlib import Path
from typing import List, Optional, Sequence, Tuple

#: a token, and its sense or none
Unit = Tuple[str, Optional[str]]

SPORT, STAGE, ACT = "play%1:04:00::", "play%1:10:01::", "play%2:33:00::"
GAME, ART = "game%1:04:00::", "art%1:06:00::"

TRAIN: List[List[Unit]] = [
    [("They", None), ("play", ACT), ("on", None), ("the", None), ("field", None)],
    [("A", None), ("good", None), ("play", SPORT), ("won", None), ("the", None), ("game", GAME)],
    [("A", None), ("good", None), ("play", SPORT), ("on", None), ("the", None), ("field", None)],
    [("The", None), ("play", STAGE), ("in", None), ("London", None), ("was", None), ("art", ART)],
    [("not_yet", "not_yet%4:02:00::"), ("``", None), ("play", ACT + ";2:36:00::"), ("''", None)],
]
TEST: List[List[Unit]] = [
    [("The", None), ("play", STAGE), ("was", None), ("art", ART)],
    [("A", None), ("good", None), ("play", SPORT), ("won", None)],
    [("They", None), ("play", ACT), ("chess", "chess%1:04:00::")],
]


def write_semcor(path: Path, sentences: Sequence[Sequence[Unit]], document: str = "br-a01") -> Path:
    """Write lines of JSON, gzipped."""
    lines = [
        json.dumps({"doc": document, "sent": str(place), "tokens": list(units), "senses": list(senses)})
        for place, (units, senses) in enumerate(zip(*sentence) for sentence in sentences)
    ]
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode("utf-8")))
    return path


def write_raganato(path: Path, sentences: Sequence[Sequence[Unit]]) -> Path:
    """Write `NAME.data.xml` and `NAME.gold.key.txt`."""
    parts = {"1": "NOUN", "2": "VERB", "3": "ADJ", "4": "ADV", "5": "ADJ"}
    keys: List[str] = []
    xml = ['<?xml version="1.0" encoding="UTF-8" ?>', '<corpus lang="en" source="made"><text id="d000">']
    for number, sentence in enumerate(sentences):
        xml.append(f'<sentence id="d000.s{number:03d}">')
        for unit, sense in sentence:
            text = unit.replace("_", " ").replace("&", "&amp;")
            if sense is None:
                xml.append(f'<wf lemma="{text.lower()}" pos="X">{text}</wf>')
                continue
            lemma, _, rest = sense.partition("%")
            name = f"d000.s{number:03d}.t{len(keys):03d}"
            xml.append(f'<instance id="{name}" lemma="{lemma}" pos="{parts[rest[0]]}">{text}</instance>')
            senses = [key if "%" in key else f"{lemma}%{key}" for key in sense.split(";")]
            keys.append(f"{name} {' '.join(senses)}")
        xml.append("</sentence>")
    path.write_text("\n".join([*xml, "</text></corpus>"]) + "\n", encoding="utf-8")
    gold = path.with_name(path.name.replace(".data.xml", ".gold.key.txt"))
    gold.write_text("\n".join(keys) + "\n", encoding="utf-8")
    return path
