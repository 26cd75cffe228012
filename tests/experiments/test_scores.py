"""The scores of the tables are those of the official scorers, on cases that were worked out by hand."""

import re
import shutil
import subprocess

import pytest

for part in ("coref", "rc", "structured_prediction"):
    pytest.importorskip(f"allennlp_models.{part}")

import numpy as np  # noqa: E402
import torch  # noqa: E402
from allennlp.data import Vocabulary  # noqa: E402
from allennlp.training.metrics import SpanBasedF1Measure  # noqa: E402
from allennlp_models.coref.metrics.conll_coref_scores import ConllCorefScores, Scorer  # noqa: E402
from allennlp_models.rc.metrics import SquadEmAndF1  # noqa: E402
from allennlp_models.structured_prediction.metrics.srl_eval_scorer import (  # noqa: E402
    DEFAULT_SRL_EVAL_PATH,
    SrlEvalScorer,
)
from allennlp_models.structured_prediction.models.srl import (  # noqa: E402
    convert_bio_tags_to_conll_format,
    write_conll_formatted_tags_to_file,
)

from elmo_plugin.reproduction.measures import MEASURES  # noqa: E402


@pytest.mark.parametrize(
    "answer,gold,exact,f1",
    [
        ("The Mat!", ["mat"], 1.0, 1.0),  # case, article and punctuation do not count
        ("the red mat", ["mat on the floor", "red mat"], 1.0, 1.0),  # the best of all answers
        ("red mat here", ["red mat"], 0.0, 0.8),  # 2 of 3 words right, 2 of 2 found
        ("dog", ["cat"], 0.0, 0.0),
        ("the the cat", ["cat cat dog"], 0.0, 1 / 2),  # a word counts as often as both have it: 1 of 1 and 1 of 3
        ("U.S.-based", ["usbased"], 1.0, 1.0),  # what is between letters is taken out, no space is put in
        ("caf\u00e9", ["cafe"], 0.0, 0.0),  # accents count
        ("", ["cat"], 0.0, 0.0),
    ],
)
def test_squad(answer, gold, exact, f1):
    metric = SquadEmAndF1()
    metric(answer, gold)

    assert metric.get_metric() == (exact, pytest.approx(f1))


def test_squad_where_nothing_is_left_of_an_answer():
    """The one difference from the script of SQuAD 1.1, whose F1 is 0 here: AllenNLP's functions are those of 2.0."""
    metric = SquadEmAndF1()
    metric("the", ["a"])

    assert metric.get_metric() == (1.0, 1.0)


@pytest.mark.skipif(shutil.which("perl") is None, reason="srl-eval.pl needs Perl")
def test_semantic_roles():
    """Two of three arguments are found, one of them by a span too short; the verb does not count."""
    scorer = SrlEvalScorer(DEFAULT_SRL_EVAL_PATH, ignore_classes=["V"])
    gold = ["(A0*", "*)", "(V*)", "(A1*)", "(AM-TMP*)"]
    found = ["(A0*)", "*", "(V*)", "(A1*)", "*"]

    scorer([2], [["The", "cat", "saw", "it", "now"]], [found], [gold])
    scores = scorer.get_metric()

    assert scores["precision-overall"] == pytest.approx(1 / 2)
    assert scores["recall-overall"] == pytest.approx(1 / 3)
    assert scores["f1-measure-overall"] == pytest.approx(0.4)


#: words, the place of the predicate, the gold labels and those found
SENTENCES = [
    # An argument in two parts is one, and found where both are; the verb's parts count for nothing.
    ("What he says goes on .", 2, "B-A1 B-A0 B-V O B-C-V O", "B-A1 B-A0 B-V O O O"),  # 2 right
    ("It , they say , rains", 3, "B-A1 O B-A0 B-V O B-C-A1", "B-A1 O B-A0 B-V O B-C-A1"),  # 2 right
    ("It , they say , rains", 3, "B-A1 O B-A0 B-V O B-C-A1", "B-A1 O B-A0 B-V O O"),  # 1 right, 1 surplus, 1 missed
    # A reference has a label of its own; another label is another argument; ends count.
    ("the man who came late", 3, "B-A0 I-A0 B-R-A0 B-V B-AM-TMP", "B-A0 I-A0 B-R-A0 B-V B-AM-MNR"),  # 2, 1 and 1
    ("the man who came late", 3, "B-A0 I-A0 B-R-A0 B-V B-AM-TMP", "O B-A0 B-A0 B-V B-AM-TMP"),  # 1, 2 and 2
    ("No verb here", None, "O O O", "O O O"),
]


@pytest.mark.skipif(shutil.which("perl") is None, reason="srl-eval.pl needs Perl")
@pytest.mark.parametrize("size", [1, 3, 6])
def test_semantic_roles_of_several_sentences(size, tmp_path):
    """From the labels of the model, in batches of any size; the counts are those that the script itself prints."""
    scorer = SrlEvalScorer(DEFAULT_SRL_EVAL_PATH, ignore_classes=["V"])
    rows = [
        (place, words.split(), *(convert_bio_tags_to_conll_format(tags.split()) for tags in (found, gold)))
        for words, place, gold, found in SENTENCES
    ]
    for start in range(0, len(rows), size):
        scorer(*map(list, zip(*rows[start : start + size])))
    with open(tmp_path / "found", "w") as found, open(tmp_path / "gold", "w") as gold:
        for row in rows:
            write_conll_formatted_tags_to_file(found, gold, *row)
    command = ["perl", DEFAULT_SRL_EVAL_PATH, str(tmp_path / "gold"), str(tmp_path / "found")]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (overall,) = re.findall(r"Overall +(\d+) +(\d+) +(\d+)", printed)

    right, surplus, missed = 8, 4, 4
    assert [int(number) for number in overall] == [right, surplus, missed]
    scores = scorer.get_metric()
    assert scores["precision-overall"] == pytest.approx(right / (right + surplus))
    assert scores["recall-overall"] == pytest.approx(right / (right + missed))
    assert scores["f1-measure-overall"] == pytest.approx(2 / 3)


def test_entities():
    """One of two entities has the wrong end: precision, recall and F1 of conlleval are 1/2."""
    tags = ["O", "B-PER", "L-PER", "U-LOC", "U-PER"]
    vocab = Vocabulary(tokens_to_add={"labels": tags}, non_padded_namespaces=["labels"])
    metric = SpanBasedF1Measure(vocab, tag_namespace="labels", label_encoding="BIOUL")
    place = {tag: vocab.get_token_index(tag, "labels") for tag in tags}
    gold = torch.tensor([[place[tag] for tag in ("B-PER", "L-PER", "U-LOC")]])
    found = torch.tensor([[place[tag] for tag in ("U-PER", "O", "U-LOC")]])

    metric(torch.nn.functional.one_hot(found, len(tags)).float(), gold)

    assert metric.get_metric()["f1-measure-overall"] == pytest.approx(0.5)


def test_entities_of_several_sentences():
    """
    By hand as conlleval counts: one of the right type and place, one of another type, two neighbours taken for one, one
    that is none, one that is missed; the counts of all sentences together, not means over them.
    """
    tags = ["O", *(f"{part}-{kind}" for kind in ("PER", "LOC") for part in "BILU")]
    vocab = Vocabulary(tokens_to_add={"labels": tags}, non_padded_namespaces=["labels"])
    metric = SpanBasedF1Measure(vocab, tag_namespace="labels", label_encoding="BIOUL")
    sentences = [
        ("B-PER L-PER O U-LOC", "B-PER L-PER O U-PER"),
        ("U-PER U-PER O O", "B-PER L-PER O U-LOC"),
        ("O U-LOC", "O O"),
    ]
    for gold, found in sentences:
        places = [
            torch.tensor([[vocab.get_token_index(tag, "labels") for tag in row.split()]]) for row in (found, gold)
        ]
        metric(torch.nn.functional.one_hot(places[0], len(tags)).float(), places[1])

    scores = metric.get_metric()
    right, found, there = 1, 4, 5
    assert scores["precision-overall"] == pytest.approx(right / found)
    assert scores["recall-overall"] == pytest.approx(right / there)
    assert scores["f1-measure-overall"] == pytest.approx(2 * right / (found + there))


def test_coreference():
    """
    Gold {a b c} {d e}, found {a b} {c d e}: MUC 2/3; B-cubed 11/15; CEAF of entities 4/5, matched with each other.
    """
    spans = {name: (place, place) for place, name in enumerate("abcde")}
    gold = [tuple(spans[name] for name in cluster) for cluster in ("abc", "de")]
    found = [tuple(spans[name] for name in cluster) for cluster in ("ab", "cde")]

    def by_mention(clusters):
        return {mention: cluster for cluster in clusters for mention in cluster}

    f1 = {}
    for name, score in (("muc", Scorer.muc), ("b_cubed", Scorer.b_cubed), ("ceafe", Scorer.ceafe)):
        scorer = Scorer(score)
        scorer.update(found, gold, by_mention(found), by_mention(gold))
        f1[name] = scorer.get_f1()

    assert f1 == {"muc": pytest.approx(2 / 3), "b_cubed": pytest.approx(11 / 15), "ceafe": pytest.approx(4 / 5)}


#: of each document the gold clusters and those found, mentions as letters; precision, recall and F1 of the three scores
DOCUMENTS = {
    # One mention on the wrong side; two mentions missed and two that are none; nothing found; nothing there.
    # MUC, links: found 2 of 3, 1 of 2, 0 of 0, 0 of 1, together 3 of 6; there 2 of 3, 1 of 3, 0 of 1, together 3 of 7.
    # B-cubed, mentions: found (4/2 + (1 + 4)/3) of 5, 4/2 of 4, 0 of 0, 0 of 2, together 17/3 of 11;
    #   there ((4 + 1)/3 + 4/2) of 5, 4/4 of 4, 0 of 2, together 14/3 of 11.
    # CEAF, entities: 4/5 + 4/5, and 4/6 of ab with abcd, together 34/15; of 2 + 2 + 0 + 1 found, 2 + 1 + 1 + 0 there.
    "several documents": (
        [("abc de", "ab cde"), ("abcd", "ab ef"), ("ab", ""), ("", "ab")],
        [
            (1 / 2, 3 / 7, 6 / 13),
            (17 / 33, 14 / 33, 2 * 17 * 14 / (33 * 31)),
            (34 / 75, 34 / 60, 2 * 34 / 15 / (5 + 4)),
        ],
    ),
    # The best pair, abcfg with abcde (6/10), is not in the best matching: de with abcde and abcfg with fg, 4/7 each.
    # MUC: abcde is in two parts, fg in one: 3 + 1 of 4 + 1 links, both ways.
    # B-cubed: (9 + 4)/5 + 4/2 of 7 mentions, both ways.
    "matching": ([("abcde fg", "abcfg de")], [(4 / 5,) * 3, (23 / 35,) * 3, (4 / 7,) * 3]),
    # An entity in two parts, and two entities in one, in two documents.
    # MUC: found 1 + 1 of 1 + 1 and 2 of 3, together 4 of 5; there 2 of 3 and 1 + 1 of 1 + 1, together 4 of 5.
    # B-cubed: found 2 + 2 of 4 and (4 + 4)/4 of 4, together 6 of 8; there the same the other way round.
    # CEAF: 4/6 in each, of 2 + 1 found and 1 + 2 there.
    "parts": ([("abcd", "ab cd"), ("ab cd", "abcd")], [(4 / 5,) * 3, (3 / 4,) * 3, (4 / 9,) * 3]),
}


@pytest.mark.parametrize("documents,expected", DOCUMENTS.values(), ids=DOCUMENTS)
def test_coreference_of_documents(documents, expected):
    """The scores add up what each document counts, and average precision, recall and F1 over the three."""
    metric, items = ConllCorefScores(), []
    measure = MEASURES["ConllCorefScores"]
    letters = "abcdefg"
    for gold, found in documents:
        # each mention of a cluster is linked to the one before it
        links = {second: first for cluster in found.split() for first, second in zip(cluster, cluster[1:])}
        one = ConllCorefScores()
        for scores in (metric, one):
            scores(
                torch.tensor([[[place, place] for place in range(len(letters))]]),
                torch.arange(len(letters)).expand(1, len(letters), len(letters)),
                torch.tensor([[letters.index(links[letter]) if letter in links else -1 for letter in letters]]),
                [{"clusters": [[(letters.index(letter),) * 2 for letter in cluster] for cluster in gold.split()]}],
            )
        items.append(measure.sums(one))

    assert [scorer.get_prf() for scorer in metric.scorers] == [pytest.approx(scores) for scores in expected]
    means = [sum(scores) / 3 for scores in zip(*expected)]
    assert metric.get_metric() == pytest.approx(means)
    assert measure.score(np.array(items).sum(axis=0)) == pytest.approx(means[2])
