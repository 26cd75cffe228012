import zipfile

import numpy as np
import pytest

from elmo_plugin.engine.errors import FormatError
from elmo_plugin.neighbors.words import WordList, read_words, write_words

WORDS = WordList(["a", "日本"], np.array([2, 1]), np.array([0, 1]))


def test_words_come_back(tmp_path):
    write_words(WORDS, tmp_path / "words.zip")
    found = read_words(tmp_path / "words.zip")

    assert found.words == WORDS.words
    assert (found.counts == WORDS.counts).all() and (found.firsts == WORDS.firsts).all()


@pytest.mark.parametrize("bits", [0x01, 0x80])
def test_a_damaged_table_of_contents_is_named(tmp_path, bits):
    path = tmp_path / "words.zip"
    write_words(WORDS, path)
    content = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        begin = archive.start_dir
    refused = 0
    for place in range(begin, len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ bits]) + content[place + 1 :])
        try:
            assert read_words(path).words == WORDS.words
        except FormatError as error:
            refused += "expected the words of an index. Build it again" in str(error)

    assert refused > 50


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FormatError, match="words.zip: .*expected the words of an index"):
        read_words(tmp_path / "words.zip")
