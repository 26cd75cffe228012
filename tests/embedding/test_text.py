import gzip
import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.embedding.text import TextReader, escaped_token
from elmo_plugin.engine.errors import FormatError, OptionsError


def read(content, **settings):
    with TextReader(io.BytesIO(content), **settings) as reader:
        return list(reader)


def test_lines_and_tokens():
    lines = read(b"The  cat\tsat .\n\n  \nlast")

    assert [line.tokens for line in lines] == [["The", "cat", "sat", "."], [], [], ["last"]]
    assert [line.number for line in lines] == [0, 1, 2, 3]
    assert lines[0].text == "The  cat\tsat ."


@pytest.mark.parametrize("separator", ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\xa0", "\u2028", "\u3000"], ids=repr)
def test_only_a_line_feed_ends_a_line(separator):
    (line,) = read(f"a{separator}b\r\n".encode())

    assert line.tokens == ["a", "b"]


@pytest.mark.parametrize("letter", ["\0", "\u200b", "\u2060", "\ufeff", "\U0010ffff", "\x1b"], ids=repr)
def test_no_white_space(letter):
    (line,) = read(f"a{letter}b\n".encode())

    assert line.tokens == [f"a{letter}b"]


@given(st.lists(st.text(st.characters(blacklist_characters="\n", blacklist_categories=["Cs"]))))
def test_any_text(texts):
    lines = read("".join(text + "\n" for text in texts).encode("utf-8"))

    assert len(lines) == len(texts)
    for line, text in zip(lines, texts):
        if line.number:
            assert (line.text, line.tokens) == (text.strip(), text.split())


@given(st.binary(max_size=200))
def test_any_bytes_can_be_replaced(content):
    lines = read(b"x" + content, errors="replace")

    assert len(lines) == content.rstrip(b"\n").count(b"\n") + 1 + max(0, len(content) - len(content.rstrip(b"\n")) - 1)


def test_invalid_utf8_is_named(tmp_path):
    path = tmp_path / "text"
    path.write_bytes("gut\nna\xefve\n".encode("latin1"))
    with TextReader(path) as reader, pytest.raises(FormatError, match=r"text: line 2: byte 3 of the line is 0xef"):
        list(reader)
    with TextReader(path, errors="replace") as reader:
        assert list(reader)[1].tokens == ["na\ufffdve"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_told_from_latin1(encoding, tmp_path):
    path = tmp_path / "text"
    path.write_bytes("\ufeffna\n".encode(encoding))
    with TextReader(path) as reader, pytest.raises(FormatError, match=r"Convert it \(iconv -f utf-16 -t utf-8\)\."):
        list(reader)


def test_unknown_errors_are_refused():
    with pytest.raises(OptionsError, match="errors is 'ignore'; choose one of"):
        read(b"", errors="ignore")


def test_byte_order_mark_is_no_text():
    assert read(b"\xef\xbb\xbfa b\n")[0].tokens == ["a", "b"]


def test_empty_file():
    assert read(b"") == []


def test_gzip_whatever_its_name(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(gzip.compress(b"a b\nc\n"))
    with TextReader(path) as reader:
        assert [line.tokens for line in reader] == [["a", "b"], ["c"]]
        assert reader.fraction == 1.0


def test_cut_gzip_is_named(tmp_path):
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(b"a b\n" * 10_000)[:-20])
    with TextReader(path) as reader, pytest.raises(FormatError, match="text.gz: behind line .* complete gzip file"):
        list(reader)


def test_standard_input(tmp_path, monkeypatch):
    path = tmp_path / "text"
    path.write_bytes(b"a b\n")
    with open(path) as file:
        monkeypatch.setattr(sys, "stdin", file)
        with TextReader("-") as reader:
            assert reader.name == "standard input"
            assert [line.tokens for line in reader] == [["a", "b"]]
        assert not file.closed


def test_file_opened_as_text_is_closed(tmp_path):
    path = tmp_path / "text"
    path.write_text("naïve cat\nb\n", encoding="utf-8")
    file = open(path, encoding="utf-8")
    with TextReader(file) as reader:
        assert [line.tokens for line in reader] == [["naïve", "cat"], ["b"]]
        assert reader.fraction is None

    assert file.closed


def test_skipping_gives_the_same_digest():
    content = b"a\nb\r\nc"
    with TextReader(io.BytesIO(content)) as one, TextReader(io.BytesIO(content)) as other:
        assert one.skip(2) == 2
        assert [next(iter(other)).text, next(iter(other)).text] == ["a", "b"]
        assert (one.lines, one.digest) == (other.lines, other.digest)
        assert one.skip(9) == 1
        assert one.lines == 3


@pytest.mark.parametrize("token", ["&apos;s", "AT&amp;T", "&#39;", "&#x27;"])
def test_escaped_tokens_are_found(token):
    assert escaped_token(["a", token]) == token


@pytest.mark.parametrize("token", ["&", "R&D", "a;b", "&c;"])
def test_other_tokens_are_not(token):
    assert escaped_token(["a", token]) is None


def test_an_open_file_with_what_is_no_text(tmp_path):
    """Half a surrogate pair, as Python's "surrogateescape" makes of bytes that are not UTF-8."""
    (tmp_path / "text").write_bytes(b"The cat\nna\xefve\n")
    for errors in ("strict", "replace"):
        file = open(tmp_path / "text", encoding="utf-8", errors="surrogateescape")
        with TextReader(file, errors) as reader:
            if errors == "strict":
                with pytest.raises(FormatError, match="line 2: byte 3 of the line is 0x"):
                    list(reader)
            else:
                assert [line.tokens[0][:3] for line in reader] == ["The", "na\ufffd"]
