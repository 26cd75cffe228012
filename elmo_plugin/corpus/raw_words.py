"""Split raw English text into the words that the pretrained biLM was trained on."""

import html
import re
import unicodedata
from typing import List

# An accent that stands behind its letter would be a word of its own. A few at a time: to put very many into their order
# takes a time squared in their number.
_ACCENTED = re.compile("[^\\W\\d_][\u0300-\u036f]{1,4}")

# What raw text writes in many ways and the training text in one.
_PLAIN = (
    (re.compile("[\u2018\u2019\u201a\u201b\u2032\u00b4`]{2}|''"), '"'),
    (re.compile("[\u2018\u2019\u201a\u201b\u2032\u00b4`]"), "'"),
    (re.compile("[\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb]"), '"'),
    # The white space around it stays: to look for that first would take a time squared in the length of long gaps.
    (re.compile("[\u2013\u2014\u2015\u0096\u0097]"), " -- "),
    (re.compile("[\u2010\u2011]"), "-"),
    (re.compile("[\u2026\u0085]|(?<!\\.)\\.(?: \\.){2,}(?!\\.)"), "..."),
    (re.compile("[\u00ad\u200b\u200c\u200d\ufeff]"), ""),
)

_WORD = re.compile(
    r"""
      \.{2,} | -{2,}                                                      # ...  --
    | (?:[^\W\d_]\.){2,}                                                  # U.S.  J.R.R.
    | (?:Mr|Mrs|Ms|Messrs|Dr|Prof|Rev|Gen|Capt|Lt|Col|Sgt|St|Jr|Sr|[Vv]s|Vol|No(?=\.\s*\d)|[A-Z])\.(?=\s|$)
    | '?\d[\d.,]*\d(?:\w|[-'/]\w)* | '\d+s\b                              # 1,000  2.5  '70s  13-year-old
    | \w+(?:[-/&@]\w+|'(?=\w)\w+|\.(?=[a-z]{2,4}\b)\w+)*                  # coming-of-age  O'Brien  Amazon.com
    | \S
    """,
    re.VERBOSE,
)
_ENDING = re.compile(r"(?<=\w)(n't|'(?:s|m|d|re|ve|ll))$", re.IGNORECASE)


def words_of(text: str) -> List[str]:
    """
    Split text as the Penn Treebank does, with straight quotes: `They don't.` gives `They`, `do`, `n't`, `.`

    Case is kept, no character is lost but white space and what cannot be seen, letters with accents are composed
    (NFC), and quotes, dashes and ellipses take the one form `"`, `'`, `--`, `...`.
    """
    words: List[str] = []
    for word in _WORD.findall(plain(text)):
        if word.lower() == "cannot":
            words += [word[:3], word[3:]]
            continue
        words += [part for part in _ENDING.split(word) if part]
    return words


def plain(text: str) -> str:
    """Give accents, quotes, dashes, ellipses and what HTML left behind their one form."""
    text = _ACCENTED.sub(lambda match: unicodedata.normalize("NFC", match.group()), html.unescape(text))
    for pattern, replacement in _PLAIN:
        text = pattern.sub(replacement, text)
    return text
