"""
The evaluation framework of Raganato et al. (2017): `NAME.data.xml`, and `NAME.gold.key.txt` beside it.

    <corpus lang="en"><text id="d000"><sentence id="d000.s000">
      <wf lemma="the" pos="DET">The</wf>
      <instance id="d000.s000.t000" lemma="art" pos="NOUN">art</instance>
    </sentence></text></corpus>

    d000.s000.t000 art%1:09:00::
"""

from pathlib import Path
from typing import Dict, List, NoReturn, Optional, Tuple
from xml.parsers import expat

from elmo_plugin.embedding.text import TextReader
from elmo_plugin.engine.errors import FormatError
from elmo_plugin.probes.senses import SenseText, SenseWord, lemma_of, tokens_of

_DATA, _GOLD = ".data.xml", ".gold.key.txt"
_POS = {"NOUN": "n", "VERB": "v", "ADJ": "a", "ADV": "r"}
#: elements, and in which ones they stand
_INSIDE = {"corpus": None, "text": "corpus", "sentence": "text", "wf": "sentence", "instance": "sentence"}


def read_raganato(path: Path) -> SenseText:
    """
    Read a data set.

    # Parameters

    path : the XML file; the keys are beside it.

    # Raises

    `FileNotFoundError` where there are no keys; `FormatError` where one of the two files is not as it should be, or
    they do not belong together. A document type declaration is refused: the files of the framework have none, and with
    it entities could be made that never end.
    """
    if not path.name.endswith(_DATA):
        raise FormatError(f"{path}: expected a name like NAME{_DATA}, with NAME{_GOLD} beside it.")
    gold_path = path.with_name(path.name[: -len(_DATA)] + _GOLD)
    if not gold_path.is_file():
        raise FileNotFoundError(f"{gold_path}: no such file, expected the sense keys of {path.name} beside it.")
    gold = _read_gold(gold_path)
    text = _Parser(path, gold).parse()
    named = {word.name for word in text.words}
    surplus = sorted(set(gold) - named)
    if surplus:
        raise FormatError(f"{gold_path}: {len(surplus)} keys have no instance in {path.name}: {surplus[:3]}.")
    return text


def _read_gold(path: Path) -> Dict[str, Tuple[str, ...]]:
    gold: Dict[str, Tuple[str, ...]] = {}
    with TextReader(path) as reader:
        for line in reader:
            where = f"{path}: line {line.number + 1}"
            if not line.tokens:
                continue
            name, *senses = line.tokens
            if not senses or name in gold:
                raise FormatError(f"{where}: {line.text[:100]!r}, expected a new name and its sense keys.")
            for sense in senses:
                lemma_of(sense, where)
            gold[name] = tuple(senses)
    return gold


class _Parser:
    """Reads as a stream: nothing of the XML is kept but the words."""

    def __init__(self, path: Path, gold: Dict[str, Tuple[str, ...]]) -> None:
        self._path = path
        self._gold = gold
        self._open: List[str] = []
        self._attributes: Dict[str, str] = {}
        self._text: List[str] = []
        self._names: set = set()
        self._sentences: List[List[str]] = []
        self._words: List[SenseWord] = []
        self._expat = expat.ParserCreate()
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._characters
        self._expat.StartDoctypeDeclHandler = self._doctype

    def parse(self) -> SenseText:
        with open(self._path, "rb") as file:
            try:
                self._expat.ParseFile(file)
            except FormatError:
                raise
            except (expat.ExpatError, LookupError, ValueError) as error:  # the latter two for other encodings
                raise FormatError(f"{self._path}: {error}; expected XML. Was it copied whole?") from error
        return SenseText(self._sentences, self._words)

    def _refuse(self, message: str) -> NoReturn:
        raise FormatError(f"{self._path}: line {self._expat.CurrentLineNumber}: {message}")

    def _doctype(self, *_: object) -> None:
        self._refuse("a document type declaration, which no file of the framework has. Take it out.")

    def _start(self, name: str, attributes: Dict[str, str]) -> None:
        outer: Optional[str] = self._open[-1] if self._open else None
        if name not in _INSIDE or _INSIDE[name] != outer:
            self._refuse(f"<{name}> in {f'<{outer}>' if outer else 'the document'}, expected {list(_INSIDE)}.")
        self._open.append(name)
        if name == "sentence":
            self._sentences.append([])
        elif name in ("wf", "instance"):
            self._attributes, self._text = attributes, []

    def _characters(self, text: str) -> None:
        if self._open[-1] in ("wf", "instance"):
            self._text.append(text)
        elif text.strip():
            self._refuse(f"text in <{self._open[-1]}>, expected it in <wf> and <instance>.")

    def _end(self, name: str) -> None:
        self._open.pop()
        if name not in ("wf", "instance"):
            return
        unit = "".join(self._text)
        if not unit.strip():
            self._refuse(f"an empty <{name}>.")
        tokens = self._sentences[-1]
        start = len(tokens)
        tokens.extend(tokens_of(unit))
        if name == "instance":
            self._words.append(self._word(start, len(tokens)))

    def _word(self, start: int, stop: int) -> SenseWord:
        name, lemma, pos = (self._attributes.get(key, "") for key in ("id", "lemma", "pos"))
        if not name or name in self._names or not lemma or pos not in _POS:
            self._refuse(f"an <instance> {self._attributes}, expected a new id, a lemma, and a pos of {list(_POS)}.")
        if name not in self._gold:
            self._refuse(f"instance {name!r} has no key in the file beside it.")
        self._names.add(name)
        lemma = lemma.replace(" ", "_").lower()
        return SenseWord(name, len(self._sentences) - 1, start, stop, (lemma, _POS[pos]), self._gold[name])
