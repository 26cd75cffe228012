"""Tests of the reader of the Stanford Sentiment Treebank."""

from pathlib import Path
from typing import List, Optional, Tuple, Union

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip("allennlp")

from allennlp.common.checks import ConfigurationError  # noqa: E402
from allennlp.data.tokenizers import WhitespaceTokenizer  # noqa: E402

from elmo_plugin.dataset_readers.sst_phrases import SstPhrasesReader, unescape  # noqa: E402
from elmo_plugin.demo.reviews import Review, tree  # noqa: E402

TREES = """\
(3 (2 (2 The) (2 Rock)) (4 (3 (2 is) (4 destined)) (2 .)))

(1 (2 No) (1 fun))
"""


def read(folder: Path, text: str, min_phrase_tokens: Optional[int] = None) -> List[Tuple[str, str]]:
    """Read text as a file and return label and words of each instance."""
    (folder / "trees.txt").write_text(text, encoding="utf-8")
    instances = SstPhrasesReader(min_phrase_tokens=min_phrase_tokens).read(str(folder / "trees.txt"))
    return [(item["label"].label, " ".join(token.text for token in item["tokens"].tokens)) for item in instances]


def test_reads_whole_sentences(tmp_path: Path) -> None:
    """Without a length there are no phrases; empty lines are no sentences."""
    assert read(tmp_path, TREES) == [("3", "The Rock is destined ."), ("1", "No fun")]


def test_reads_phrases_from_a_length_on(tmp_path: Path) -> None:
    """Phrases follow their sentence, which stays even if it is shorter."""
    expected = [("3", "The Rock is destined ."), ("4", "is destined ."), ("1", "No fun")]

    assert read(tmp_path, TREES, min_phrase_tokens=3) == expected


def test_same_sentences_as_allennlp_models(tmp_path: Path) -> None:
    """With phrases of one token on, the phrases are those of `sst_tokens` with its subtrees."""
    sst_tokens = pytest.importorskip("allennlp_models.classification").StanfordSentimentTreeBankDatasetReader
    ours = read(tmp_path, TREES, min_phrase_tokens=1)
    theirs = sst_tokens(use_subtrees=True).read(str(tmp_path / "trees.txt"))

    assert ours == [(item["label"].label, " ".join(token.text for token in item["tokens"].tokens)) for item in theirs]


def test_words_lose_the_escapes_of_the_treebank(tmp_path: Path) -> None:
    """A biLM reads characters: it must see those of raw text."""
    words = r"-LRB- `` 9\/10 '' -RRB- `so' \*\*\* bad--LRB-"

    assert read(tmp_path, f"(2 {words})") == [("2", '( " 9/10 " ) `so\' *** bad-(')]


@pytest.mark.parametrize(
    "line,message",
    [
        ("hello", r"'hello\\n': Tree.read\(\): expected '\(' but got 'hello'. Expected one tree"),
        ("(3 (2 a)", "expected '\\)' but got 'end-of-string'"),
        ("(2 a) (3 b)", "expected 'end-of-string' but got '\\(3'"),
        ("\ufeff(2 a)", r"got '\\ufeff'\. Expected one tree.* no byte order mark"),
        ("(7 (2 a) (2 b))", "the label '7' and 2 words, expected one of the labels .*'4'"),
        ("( (2 a) (2 b))", "the label '' and 2 words"),
        ("(2 )", "the label '2' and 0 words, expected .* a word at least"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    """With the file and the number of the line; the empty one counts."""
    with pytest.raises(ConfigurationError, match="trees.txt, line 4: .*" + message):
        read(tmp_path, TREES + line + "\n")


def test_labels_of_phrases_that_are_not_read_do_not_matter(tmp_path: Path) -> None:
    """As in trees that mark whole sentences alone."""
    assert read(tmp_path, "(3 (- good) (- film))\n") == [("3", "good film")]
    with pytest.raises(ConfigurationError, match="the label '-' and 1 words"):
        read(tmp_path, "(3 (- good) (- film))\n", min_phrase_tokens=1)


def test_another_encoding_is_named(tmp_path: Path) -> None:
    """Not only the bytes."""
    (tmp_path / "trees.txt").write_bytes("(2 café)\n".encode("latin-1"))

    with pytest.raises(ConfigurationError, match="trees.txt: near line 1: .* expected text in UTF-8"):
        list(SstPhrasesReader().read(str(tmp_path / "trees.txt")))


def test_text_is_split_as_its_predictor_needs_it() -> None:
    """By spaCy's rules, or as the configuration says; words stay as they are."""

    def words(reader: SstPhrasesReader, text: Union[str, List[str]]) -> List[str]:
        return [token.text for token in reader.text_to_instance(text)["tokens"].tokens]

    assert words(SstPhrasesReader(), "It's (not) good.") == ["It", "'s", "(", "not", ")", "good", "."]
    assert words(SstPhrasesReader(tokenizer=WhitespaceTokenizer()), "It's good.") == ["It's", "good."]
    assert words(SstPhrasesReader(), ["It's", "good."]) == ["It's", "good."]


@given(st.lists(st.text(st.characters(blacklist_categories=["Cs", "Z", "Cc", "Cf"]), min_size=1), min_size=1))
@example(["(", ")", "((a)b", "naïve", "3"])
def test_reviews_written_as_trees_are_read_back(words: List[str]) -> None:
    """Brackets and digits in words do not disturb the tree."""
    from nltk.tree import Tree

    words = [word for word in map(unescape, words) if word == unescape(word)]
    parsed = Tree.fromstring(tree(Review("film", 3, words or ["."])))

    assert parsed.label() == "3"
    assert [unescape(leaf) for leaf in parsed.leaves()] == (words or ["."])


@pytest.mark.parametrize("text", ["", " ", "\u00a0", [], [" "]])
def test_a_text_without_a_word_is_refused(text: Union[str, List[str]]) -> None:
    with pytest.raises(ConfigurationError, match="sst_phrases: no word in .*, expected at least one"):
        SstPhrasesReader().text_to_instance(text)
