"""What `allennlp predict` makes of an archive of each task, from what a person gives it."""

import json
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple

import pytest
from allennlp.common import JsonDict
from allennlp.models import Model
from allennlp.predictors import Predictor

from elmo_plugin.reproduction import outcome

TEXT = "The cat saw Bonn. It liked it."
WORDS = ["The", "cat", "saw", "Bonn", ".", "It", "liked", "it", "."]


class Case(NamedTuple):
    """
    A task and its predictor.

    # Parameters

    predictor : of AllenNLP.
    needs_spacy : it cuts text by a spaCy model of its own, "en_core_web_sm" where nothing is said.
    inputs : two of them.
    is_sound : of the output of the first input.
    """

    predictor: str
    needs_spacy: bool
    inputs: List[JsonDict]
    is_sound: Callable[[JsonDict], bool]


def _roles_are_sound(output: JsonDict) -> bool:
    frames = output["verbs"]
    return (
        output["words"] == WORDS
        and [frame["verb"] for frame in frames] == ["saw", "liked"]
        and all(len(frame["tags"]) == len(WORDS) for frame in frames)
    )


def _clusters_are_sound(output: JsonDict) -> bool:
    # 0.4 of nine words: three mentions, all of one cluster, since `_link_mentions` lets none stand alone.
    clusters = [{tuple(mention) for mention in cluster} for cluster in output["clusters"]]
    return (
        output["document"] == WORDS
        and [len(cluster) for cluster in clusters] == [3]
        and all(0 <= first <= last < len(WORDS) for first, last in clusters[0])
    )


def _link_mentions(model: Model) -> None:
    """
    Let each mention have an antecedent where there is one in front of it. What is trained on next to nothing may find
    none, and an empty list of clusters would show nothing.
    """
    model.get_parameter("_antecedent_scorer._module.bias").data.fill_(1e6)


CASES: Dict[str, Case] = {
    "coref": Case(
        "coreference_resolution", True, [{"document": TEXT}, {"document": "Nobody sleeps."}], _clusters_are_sound
    ),
    "ner": Case(
        "sentence_tagger",
        True,
        [{"sentence": TEXT}, {"sentence": "It did."}],
        lambda output: output["words"] == WORDS and len(output["tags"]) == len(WORDS),
    ),
    "snli": Case(
        "textual_entailment",
        False,
        [{"premise": "A man sleeps.", "hypothesis": text} for text in ("He does.", "No.")],
        lambda output: output["label"] in ("entailment", "neutral", "contradiction"),
    ),
    "squad": Case(
        "reading_comprehension",
        False,
        [{"passage": TEXT, "question": text} for text in ("Who?", "What is it?")],
        lambda output: output["best_span_str"] != "" and output["best_span_str"] in TEXT,
    ),
    "srl": Case("semantic_role_labeling", True, [{"sentence": TEXT}, {"sentence": "No verb."}], _roles_are_sound),
    "sst": Case(
        "text_classifier",
        False,
        [{"sentence": "It's a wonderful (but long) film."}, {"sentence": "No."}],
        lambda output: output["label"] in list("01234") and sum(output["class_probabilities"]) == pytest.approx(1.0),
    ),
}


def check(task: str, archive: Path, spacy_model: str) -> None:
    """
    Let the predictor that the model of an archive names make outputs one by one and together, as lines of JSON;
    documents for coreference only one by one. AllenNLP's `bcn` names none.
    """
    case = CASES[task]
    arguments: Dict[str, Any] = {"language": spacy_model} if case.needs_spacy else {}
    loaded = outcome.load(archive)
    if task == "coref":
        _link_mentions(loaded.model)
    name = case.predictor if loaded.config["model"]["type"] == "bcn" else None
    predictor = Predictor.from_archive(loaded, name, extra_args=arguments)
    assert type(predictor) is Predictor.by_name(case.predictor)

    alone = [predictor.predict_json(dict(inputs)) for inputs in case.inputs]
    groups = [alone]
    if task != "coref":
        groups.append(predictor.predict_batch_json([dict(inputs) for inputs in case.inputs]))

    for outputs in groups:
        lines = [json.loads(predictor.dump_line(output)) for output in outputs]
        assert len(lines) == 2
        assert case.is_sound(lines[0]), lines[0]
