"""
Text with a sentence a line, read as a stream.

One rule for all of it: a line ends at a line feed; its tokens are what is between white space, as Python's `str.split`
has it (Unicode's white space and the control characters 9 to 13 and 28 to 31). So a carriage return, a line separator
(U+2028), a vertical tab or a no-break space separates tokens and never lines.
"""

import gzip
import hashlib
import io
import os
import re
import stat
import sys
import zlib
from pathlib import Path
from typing import IO, Iterator, List, NamedTuple, Optional, Tuple, Union, cast

from elmo_plugin.engine.errors import FormatError, OptionsError

STANDARD_INPUT = "-"
STRICT = "strict"
ERRORS = (STRICT, "replace")

_GZIP = b"\x1f\x8b"  # no UTF-8 text begins with these two
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_ESCAPED = re.compile(r"&(?:amp|apos|quot|lt|gt|#[0-9]+|#x[0-9A-Fa-f]+);")


class TextLine(NamedTuple):
    """
    One line.

    # Parameters

    number : from 0.
    text : without the white space at its ends.
    tokens : none for a blank line.
    """

    number: int
    text: str
    tokens: List[str]


class TextReader:
    """
    The lines of a file.

    # Parameters

    source : a path, `"-"` for standard input, or an open file of bytes or text. What is compressed with gzip is
        recognised by its first bytes. A byte order mark in front of the text is no part of it.
    errors : "strict", or "replace" to read what is not UTF-8 as U+FFFD.

    # Raises

    `FileNotFoundError` and the like; `OptionsError` for another value of `errors`.
    """

    def __init__(self, source: Union[str, Path, IO], errors: str = STRICT) -> None:
        if errors not in ERRORS:
            raise OptionsError(f"errors is {errors!r}; choose one of {list(ERRORS)}.")
        self._errors = errors
        self._raw, self._owned = _open(source)
        self.name = "standard input" if source == STANDARD_INPUT else str(getattr(source, "name", source))
        self._size = _size(self._raw)
        buffered = io.BufferedReader(self._raw)
        is_gzip = buffered.peek(2)[:2] == _GZIP
        self._stream: IO[bytes] = cast(IO[bytes], gzip.GzipFile(fileobj=buffered)) if is_gzip else buffered
        self._digest = hashlib.blake2b(digest_size=16)
        #: lines that were read
        self.lines = 0

    def __enter__(self) -> "TextReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._owned.close()

    @property
    def digest(self) -> str:
        """The digest of all bytes that were read so far, in hexadecimal digits."""
        return self._digest.hexdigest()

    @property
    def fraction(self) -> Optional[float]:
        """How much of the file was read, from 0 to 1; None where its size is not known."""
        if not self._size:
            return None
        return min(1.0, self._raw.tell() / self._size)

    def skip(self, lines: int) -> int:
        """Read lines, at most so many, for the digest alone; return how many there were."""
        for count in range(lines):
            if not self._next_line():
                return count
        return lines

    def __iter__(self) -> Iterator[TextLine]:
        while True:
            number = self.lines
            line = self._next_line()
            if not line:
                return
            text = self._decode(line, number).strip()
            yield TextLine(number, text, text.split())

    def _next_line(self) -> bytes:
        try:
            line = self._stream.readline()
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FormatError(
                f"{self.name}: behind line {self.lines}: {error}; expected a complete gzip file. Was it copied whole?"
            ) from error
        self._digest.update(line)
        self.lines += bool(line)
        return line

    def _decode(self, line: bytes, number: int) -> str:
        if number == 0 and line.startswith(_BYTE_ORDER_MARK):
            line = line[len(_BYTE_ORDER_MARK) :]
        try:
            return line.decode("utf-8", self._errors)
        except UnicodeDecodeError as error:
            is_utf_16 = number == 0 and line.startswith(_UTF_16)
            cure = "iconv -f utf-16 -t utf-8)" if is_utf_16 else "iconv -f latin1 -t utf-8), or use --errors replace"
            raise FormatError(
                f"{self.name}: line {number + 1}: byte {error.start + 1} of the line is 0x{line[error.start]:02x}, "
                f"expected text in UTF-8. Convert it ({cure}."
            ) from error


class _TextBytes(io.RawIOBase):
    """The bytes of a file that was opened as text."""

    def __init__(self, lines: IO[str]) -> None:
        self._lines = lines
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        if not self._rest:
            # What is no text (half a surrogate pair) is no UTF-8 either, and is told of with its line like any other.
            self._rest = self._lines.read(1 << 20).encode("utf-8", "surrogatepass")
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def _open(source: Union[str, Path, IO]) -> Tuple[io.RawIOBase, IO]:
    """Return the unbuffered bytes, and what is to be closed."""
    if source == STANDARD_INPUT:
        raw = open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)
        return raw, cast(IO, raw)
    if isinstance(source, (str, Path)):
        raw = open(source, "rb", buffering=0)
        return raw, cast(IO, raw)
    if isinstance(source.read(0), str):
        return _TextBytes(source), source
    return cast(io.RawIOBase, source), source


def _size(raw: io.RawIOBase) -> Optional[int]:
    try:
        status = os.fstat(raw.fileno())
    except (OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def escaped_token(tokens: List[str]) -> Optional[str]:
    """Return a token that a tokeniser escaped for XML (`&apos;s`), which no published biLM has met in its training."""
    return next((token for token in tokens if "&" in token and _ESCAPED.search(token)), None)
