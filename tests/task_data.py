"""Hand-made data for every task of the paper, in the formats and places that `experiments/lib/data.libsonnet` names."""

import gzip
import json
from pathlib import Path
from typing import Any, Dict, Sequence

TREES = """\
(3 (2 (2 The) (2 Rock)) (4 (3 (2 is) (4 destined)) (2 .)))
(1 (2 No) (1 (1 fun) (2 -RRB-)))
(0 It fails)
(4 It 's (4 wonderful))
"""
ENTITIES = """\
-DOCSTART- -X- O O

U.N. NNP I-NP I-ORG
official NN I-NP O
Rolf NNP I-NP I-PER
Ekeus NNP I-NP I-PER
heads VBZ I-VP O
for IN I-PP O
Baghdad NNP I-NP I-LOC
. . O O

He PRP I-NP O
left VBD I-VP O
Bonn NNP I-NP I-LOC
"""
#: word, tag, parse, predicate, frame, mention; the first sentence is A's and the second B's
SENTENCES = [
    [
        ("The", "DT", "(TOP(S(NP*", "-", "(ARG0*", "(0"),
        ("cat", "NN", "*)", "-", "*)", "0)"),
        ("saw", "VBD", "(VP*", "see", "(V*)", "-"),
        ("Bonn", "NNP", "(NP*)", "-", "(ARG1*)", "(1)"),
        (".", ".", "*)))", "-", "*", "-"),
    ],
    [
        ("It", "PRP", "(TOP(S(NP*)", "-", "(ARG0*)", "(0)"),
        ("liked", "VBD", "(VP*", "like", "(V*)", "-"),
        ("it", "PRP", "(NP*)", "-", "(ARG1*)", "(1)"),
        (".", ".", "*)))", "-", "*", "-"),
    ],
]
PASSAGE = "The cat sat on the mat in Bonn, where nobody saw it. It was happy."
QUESTIONS = [("Where was the cat?", "Bonn"), ("What did the cat sit on?", "the mat"), ("Who saw it?", "nobody")]
WORDS = ["the", "cat", "sat", "saw", "it", "Bonn", "bonn", "a", "man", "sleeps", "he", "is", "no"]


def conll(document: str, sentences: Sequence[Sequence[Sequence[str]]] = SENTENCES) -> str:
    """A document in the columns of CoNLL-2012."""
    lines = [f"#begin document ({document}); part 000"]
    for number, sentence in enumerate(sentences):
        for place, (word, tag, parse, predicate, frame, mention) in enumerate(sentence):
            sense = "-" if predicate == "-" else "01"
            speaker = "AB"[number % 2]
            columns = [document, "0", str(place), word, tag, parse, predicate, sense, "-", speaker, "*", frame, mention]
            lines.append("   ".join(columns))
        lines.append("")
    return "\n".join(lines + ["#end document", ""])


def squad() -> Dict[str, Any]:
    """The layout of SQuAD v1.1."""
    questions = [
        {"id": str(number), "question": question, "answers": [{"text": answer, "answer_start": PASSAGE.index(answer)}]}
        for number, (question, answer) in enumerate(QUESTIONS)
    ]
    return {"version": "1.1", "data": [{"title": "", "paragraphs": [{"context": PASSAGE, "qas": questions}]}]}


def conllu(sentences: Sequence[Sequence[Sequence[str]]] = SENTENCES) -> str:
    """Dependency trees in the columns of CoNLL-U, in which every word hangs on the first one."""
    lines = []
    for sentence in sentences:
        for place, (word, tag, *_) in enumerate(sentence, start=1):
            lines.append("\t".join([str(place), word, "_", "X", tag, "_", str(min(place - 1, 1)), "dep", "_", "_"]))
        lines.append("")
    return "\n".join(lines + [""])


def snli() -> str:
    """JSON lines of SNLI; the annotators did not agree about the last pair."""
    pairs = [("A man sleeps.", "Nobody is awake.", label) for label in ("entailment", "neutral", "contradiction", "-")]
    keys = ("sentence1", "sentence2", "gold_label")
    return "".join(json.dumps(dict(zip(keys, pair))) + "\n" for pair in pairs)


def vectors(dim: int) -> str:
    """Lines of a word and its vector."""
    return "".join(f"{word} " + " ".join([f"{place / 10}"] * dim) + "\n" for place, word in enumerate(WORDS, start=1))


def write(folder: Path) -> Dict[str, str]:
    """
    Write all data sets, at both scales, and word vectors.

    # Returns

    The variables of the experiments: DATA and VECTORS.
    """
    texts: Dict[str, str] = {"senna/senna.50d.txt": vectors(50), "vectors.txt": vectors(100)}
    texts["qa/xquad/xquad.en.json"] = texts["qa/qamr/train.json"] = json.dumps(squad())
    small, paper = ("train", "dev", "test"), ("train", "development", "conll-2012-test")
    for part, name, conll2003 in zip(small, paper, ("train", "testa", "testb")):
        texts[f"sst/{part}.txt"] = TREES
        texts[f"ner/wikigold/{part}.txt"] = texts[f"conll2003/eng.{conll2003}"] = ENTITIES
        texts[f"srl/ewt_verbal/{part}/a.gold_conll"] = conll("answers/a")
        texts[f"conll-formatted-ontonotes-5.0/data/{name}/data/english/a.gold_conll"] = conll("nw/a")
        texts[f"coref/ontogum_open/{part}_00.gold_conll"] = conll("GUM_news_a")
        texts[f"coref/{part}.english.v4_gold_conll"] = conll("nw/a") + conll("bc/b")
        texts[f"qa/new_wiki/{part}.json"] = texts[f"public/squad-{part}-v1.1.json"] = json.dumps(squad())
        texts[f"nli/snli/{part}.jsonl"] = texts[f"public/snli_1.0_{part}.jsonl"] = snli()
        texts[f"public/{part}.txt"] = TREES
        for shard in ("00", "01"):
            texts[f"pos/ud_ewt/en_ewt-ud-{part}-{shard}.conllu"] = conllu()
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for name, dim in (("glove.840B.300d", 300), ("glove.6B.100d", 100)):
        (folder / f"public/{name}.txt.gz").write_bytes(gzip.compress(vectors(dim).encode()))
    return {"DATA": str(folder), "VECTORS": str(folder / "vectors.txt")}


def public_file(address: str, folder: Path) -> Path:
    """The file that `write` wrote for what is public at an address."""
    return folder / "public" / address.rsplit("/", 1)[1]
