"""Files in the columns of CoNLL-2012, before AllenNLP's parser reads them."""

from pathlib import Path

import pytest

from elmo_plugin.adapters.conll_files import fault_at_end


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n", "\n \t\n", "\n#end document", "\n#end document\n"])
def test_a_last_sentence_with_an_end_is_whole(end: str, tmp_path: Path) -> None:
    path = tmp_path / "a.gold_conll"
    path.write_bytes(b"nw/a 0 0 cat" + end.encode())

    assert fault_at_end(path) is None


def test_an_empty_file_has_lost_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.gold_conll"
    path.write_text("")

    assert fault_at_end(str(path)) is None


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_sentence_without_an_end_is_told(end: str, tmp_path: Path) -> None:
    path = tmp_path / "a.gold_conll"
    path.write_text("nw/a 0 0 cat\n\nnw/a 0 0 dog" + end)

    said = fault_at_end(path)

    assert said is not None and said.startswith("the last line is 'nw/a 0 0 dog', expected an empty one")


def test_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.gold_conll"
    path.write_bytes("nw/a 0 0 c\xe4t\n\n".encode("latin-1"))

    with pytest.raises(UnicodeDecodeError):
        fault_at_end(path)
