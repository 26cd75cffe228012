"""Synthetic data in the original formats that a sound model learns by heart, for every task of the paper."""

import json
import random
from pathlib import Path
from typing import Callable, Dict, List, Tuple

from tests import task_data

NAMES = ["Anna", "Bert", "Carla", "Dirk", "Emma", "Fritz", "Greta", "Hans", "Ida", "Jan"]
PLACES = ["Bonn", "Rome", "New York", "Oslo", "Madrid", "Hong Kong", "Paris", "Lima", "Quito", "Cairo"]
#: word, tag, parse, predicate, frame, mention
Row = Tuple[str, str, str, str, str, str]


def questions() -> str:
    """SQuAD: 50 questions about ten passages in which the same people live in, and come from, other places."""
    draw = random.Random(0)
    paragraphs = []
    for number in range(10):
        people = draw.sample(NAMES, 3)
        homes, origins = draw.sample(PLACES, 3), draw.sample(PLACES, 3)
        passage = "".join(
            f"{person} from {origin} lives in {home}. " for person, origin, home in zip(people, origins, homes)
        ).strip()
        asked = [(f"Where does {person} live?", f"lives in {home}", home) for person, home in zip(people, homes)]
        asked += [
            (f"Where does {person} come from?", f"{person} from {origin}", origin)
            for person, origin in zip(people[:2], origins)
        ]
        items = [
            {
                "id": f"{number}-{place}",
                "question": question,
                # the place as it stands there, where the passage names it twice
                "answers": [{"text": answer, "answer_start": passage.index(around) + len(around) - len(answer)}],
            }
            for place, (question, around, answer) in enumerate(asked)
        ]
        paragraphs.append({"context": passage, "qas": items})
    return json.dumps({"version": "1.1", "data": [{"title": "", "paragraphs": paragraphs}]})


def pairs() -> str:
    """SNLI: four premises, each with a hypothesis of every label; the hypotheses alone do not tell the label."""
    places = ["garden", "kitchen", "street", "school"]
    lines = []
    for number, place in enumerate(places):
        other = places[(number + 1) % len(places)]
        premise = f"A man sleeps in the {place}."
        for label, hypothesis in (
            ("entailment", f"Somebody is in the {place}."),
            ("contradiction", f"Somebody is in the {other}."),
            ("neutral", "Somebody is old."),
        ):
            lines.append(json.dumps({"sentence1": premise, "sentence2": hypothesis, "gold_label": label}))
    return "\n".join(lines) + "\n"


def trees() -> str:
    """SST: four sentences of each label, in which a word tells it."""
    words = ["awful", "dull", "plain", "good", "superb"]
    return "".join(
        f"({label} (2 The) (2 {subject}) (2 was) ({label} {word}) (2 .))\n"
        for label, word in enumerate(words)
        for subject in ("film", "play", "plot", "cast")
    )


def entities() -> str:
    """CoNLL-2003: ten sentences with names of one and of two words, and of all kinds."""
    lines = ["-DOCSTART- -X- O O", ""]
    for name, place in zip(NAMES, PLACES):
        words = [(name, "I-PER"), ("Miller", "I-PER"), ("left", "O"), ("Acme", "I-ORG"), ("in", "O")]
        words += [(word, "I-LOC") for word in place.split()] + [("for", "O"), ("Danish", "I-MISC"), ("butter", "O")]
        lines += [f"{word} NN I-NP {tag}" for word, tag in words] + [""]
    return "\n".join(lines)


def meeting(first: str, second: str) -> List[List[Row]]:
    """Two sentences, in the second of which pronouns stand for two people of the first."""
    return [
        [
            (first, "NNP", "(TOP(S(NP*)", "-", "(ARG0*)", "(0)"),
            ("met", "VBD", "(VP*", "meet", "(V*)", "-"),
            (second, "NNP", "(NP*)", "-", "(ARG1*)", "(1)"),
            ("in", "IN", "(PP*", "-", "(ARGM-LOC*", "-"),
            ("the", "DT", "(NP*", "-", "*", "-"),
            ("park", "NN", "*)))", "-", "*)", "-"),
            (".", ".", "*))", "-", "*", "-"),
        ],
        [
            ("Then", "RB", "(TOP(S*", "-", "(ARGM-TMP*)", "-"),
            ("she", "PRP", "(NP*)", "-", "(ARG0*)", "(0)"),
            ("gave", "VBD", "(VP*", "give", "(V*)", "-"),
            ("him", "PRP", "(NP*)", "-", "(ARG2*)", "(1)"),
            ("the", "DT", "(NP*", "-", "(ARG1*", "-"),
            ("book", "NN", "*))", "-", "*)", "-"),
            (".", ".", "*))", "-", "*", "-"),
        ],
    ]


def documents() -> str:
    """CoNLL-2012: five documents of two sentences."""
    return "".join(
        task_data.conll(f"nw/{first}", meeting(first, second)) for first, second in zip(NAMES[::2], NAMES[1::2])
    )


#: the file's name and its text
OF_TASK: Dict[str, Tuple[str, Callable[[], str]]] = {
    "coref": ("a.gold_conll", documents),
    "ner": ("a.txt", entities),
    "snli": ("a.jsonl", pairs),
    "squad": ("a.json", questions),
    "srl": ("a.gold_conll", documents),
    "sst": ("a.txt", trees),
}


def write(task: str, folder: Path) -> str:
    """Write the data of a task into a folder; returns the path that its reader takes."""
    name, text = OF_TASK[task]
    folder.mkdir()
    (folder / name).write_text(text(), encoding="utf-8")
    return str(folder if task == "srl" else folder / name)
