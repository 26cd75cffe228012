import gzip
import logging

import numpy as np
import pytest

from elmo_plugin.corpus.text import Corpus, CorpusCounts, find_files
from elmo_plugin.engine.errors import OptionsError


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "b.txt").write_text("one two\n\n  \nthree\n", encoding="utf-8")
    with gzip.open(tmp_path / "a.txt.gz", "wt", encoding="utf-8") as out:
        out.write("é four\nfive six seven")
    (tmp_path / "c.txt").write_text("")
    (tmp_path / ".hidden").write_text("never read")
    return tmp_path


TEXT = [["é", "four"], ["five", "six", "seven"], ["one", "two"], ["three"]]


def flat(corpus, seed=None):
    return [words for block in corpus.blocks(seed) for words in block]


@pytest.mark.parametrize("pattern", ["", "*.txt*", "[ab].*"])
def test_reads_folders_and_patterns(folder, pattern):
    assert flat(Corpus(str(folder / pattern))) == TEXT


def test_reads_files_and_lists(folder):
    assert flat(Corpus(folder / "b.txt")) == TEXT[2:]
    assert flat(Corpus([folder / "b.txt", str(folder / "a*")])) == TEXT[2:] + TEXT[:2]


def test_counts_lines_sentences_and_tokens_apart(folder, caplog):
    with caplog.at_level(logging.WARNING):
        assert Corpus(folder).counts() == CorpusCounts(lines=6, sentences=4, tokens=8)
    assert "c.txt holds no sentence; skipped" in caplog.text


@pytest.mark.parametrize("pattern", ["nothing-*.txt", "nowhere"])
def test_no_match_names_the_pattern(folder, pattern):
    with pytest.raises(FileNotFoundError, match=pattern.replace("*", r"\*")):
        Corpus(str(folder / pattern))


def test_empty_folder_and_empty_list(tmp_path):
    with pytest.raises(FileNotFoundError, match="folder holds no files"):
        find_files(tmp_path)
    with pytest.raises(FileNotFoundError, match="empty list"):
        find_files([])


def test_only_empty_files_is_an_error(folder):
    with pytest.raises(ValueError, match="all 1 files are empty"):
        Corpus(folder / "c.txt").counts()


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_lengths_follow_the_shuffled_text(folder, seed):
    corpus = Corpus(folder, block_sentences=2)
    lengths = np.concatenate(list(corpus.lengths(seed))).tolist()
    text = flat(corpus, seed)

    assert lengths == [len(words) for words in text]
    assert sorted(text) == sorted(TEXT)


def test_seed_decides_the_order(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text("".join(f"{name}{i}\n" for i in range(50)))
    corpus = Corpus(tmp_path)

    assert flat(corpus, 1) == flat(corpus, 1) != flat(corpus, 2)
    orders = {flat(corpus, seed)[0][0][0] for seed in range(10)}
    assert orders == {"a", "b"}, "shards are not shuffled"


@pytest.mark.parametrize("block_sentences", [1, 2, 3, 100])
def test_blocks_are_bounded(folder, block_sentences):
    blocks = list(Corpus(folder, block_sentences=block_sentences).blocks())

    assert max(map(len, blocks)) <= block_sentences
    assert [words for block in blocks for words in block] == TEXT


@pytest.mark.parametrize("count", [1, 3, 9])
def test_max_sentences_are_the_first(folder, count):
    corpus = Corpus(folder, max_sentences=count)

    assert flat(corpus) == TEXT[:count]
    assert sorted(flat(corpus, 3)) == sorted(TEXT[:count])
    assert corpus.counts().sentences == min(count, 4)


def test_max_sentences_below_one(folder):
    with pytest.raises(ValueError, match="max_sentences is 0"):
        Corpus(folder, max_sentences=0)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_workers_share_the_text(folder, count):
    shares = [flat(Corpus(folder, worker=(index, count))) for index in range(count)]

    assert sorted(words for share in shares for words in share) == sorted(TEXT)


def test_block_sentences_below_one(folder):
    with pytest.raises(OptionsError, match="block_sentences is 0, expected at least 1"):
        Corpus(folder, block_sentences=0)


def test_byte_order_mark_is_no_part_of_the_first_word(tmp_path):
    (tmp_path / "a").write_text("the cat\nthe dog\n", encoding="utf-8-sig")

    assert flat(Corpus(tmp_path / "a")) == [["the", "cat"], ["the", "dog"]]


def test_folders_in_a_folder_are_named(folder, caplog):
    (folder / "more").mkdir()
    (folder / "more" / "d.txt").write_text("eight\n")
    with caplog.at_level(logging.WARNING):
        assert flat(Corpus(folder)) == TEXT
    assert "the folders in it are not read (more)" in caplog.text
    assert flat(Corpus(f"{folder}/**")) == TEXT + [["eight"]]


def test_broken_files_are_named(folder):
    (folder / "latin.txt").write_bytes(b"fine\n\xe9\n")
    with pytest.raises(ValueError, match="latin.txt: near line .*utf-8.*expected text in UTF-8"):
        flat(Corpus(folder / "latin.txt"))
    (folder / "cut.txt.gz").write_bytes((folder / "a.txt.gz").read_bytes()[:-12])
    with pytest.raises(ValueError, match="cut.txt.gz: behind line .*expected a complete gzip file"):
        flat(Corpus(folder / "cut.txt.gz"))


@pytest.mark.parametrize("count", [None, 3, 5])
def test_a_file_that_is_given_twice_is_read_and_counted_twice(folder, count):
    corpus = Corpus([folder / "b.txt", folder / "a.txt.gz", folder / "b.txt"], max_sentences=count)
    expected = (TEXT[2:] + TEXT)[:count]

    assert flat(corpus) == expected
    assert corpus.counts()[1:] == (len(expected), sum(map(len, expected)))
    assert np.concatenate(list(corpus.lengths(1))).tolist() == [len(words) for words in flat(corpus, 1)]


def test_shards_without_a_sentence_are_no_share(tmp_path, caplog):
    """Else a worker would have nothing to do, and the others wait for it."""
    for name, text in (("a", "one\ntwo\n"), ("b", " \n"), ("c", ""), ("d", "three\n")):
        (tmp_path / name).write_text(text)
    shares = [flat(Corpus(tmp_path, worker=(index, 2))) for index in range(2)]
    assert shares == [[["one"], ["two"]], [["three"]]]
    assert "b holds no sentence; skipped" in caplog.text

    three = [flat(Corpus(tmp_path, worker=(index, 3))) for index in range(3)]
    assert sorted(words for share in three for words in share) == [["one"], ["three"], ["two"]]
