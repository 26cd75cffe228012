"""Objects of a JSON text, read key by key, with messages that name file, key, what was found and what was expected."""

from typing import Any, Callable, Mapping, Optional, Tuple

from elmo_plugin.engine.errors import OptionsError


class JsonSection:
    """
    One JSON object.

    # Parameters

    data : the decoded object.
    source : what to call the file in messages.
    path : the keys that lead to this object, joined by dots; empty for the whole file.

    # Raises

    `OptionsError` where `data` is no object.
    """

    def __init__(self, data: Any, source: str, path: str = "") -> None:
        self._source = source
        self._path = path
        if not isinstance(data, Mapping):
            place = f"key {path!r}" if path else "the whole file"
            raise OptionsError(f"{source}: {place} is {shortened(data)}, expected a JSON object.")
        self._data = data

    def fail(self, key: str, expected: str) -> None:
        """Raise the `OptionsError` about a key."""
        found = shortened(self._data[key]) if key in self._data else "missing"
        raise OptionsError(f"{self._source}: key {self._name(key)!r} is {found}, expected {expected}.")

    def refuse_unknown(self, known: Tuple[str, ...]) -> None:
        """Raise `OptionsError` where there is a key that nobody would look at."""
        unknown = sorted(str(key) for key in self._data if key not in known)
        if unknown:
            names = ", ".join(repr(self._name(key)) for key in unknown)
            raise OptionsError(
                f"{self._source}: unknown key {names}; this engine would ignore it, and the vectors might be wrong. "
                f"Known here: {', '.join(known)}."
            )

    def section(self, key: str) -> "JsonSection":
        """The object under a key that must be there."""
        if key not in self._data:
            self.fail(key, "a JSON object")
        return JsonSection(self._data[key], self._source, self._name(key))

    def get(self, key: str, convert: Callable[[Any], Any], default: Any) -> Any:
        """The converted value of a key, or the default where the key is missing."""
        return self.require(key, convert) if key in self._data else default

    def require(self, key: str, convert: Callable[[Any], Any]) -> Any:
        """The converted value of a key that must be there; `convert` raises `ValueError` with what it expects."""
        if key not in self._data:
            self.fail(key, "a value")
        try:
            return convert(self._data[key])
        except ValueError as error:
            self.fail(key, str(error))

    def _name(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key


def positive(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("a whole number of at least 1")
    return value


def count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("a whole number of at least 0")
    return value


def bound(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise ValueError("a number above 0, or null for no clipping")
    return value


def boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def one_of(values: Tuple[Any, ...]) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if type(value) is not type(values[0]) or value not in values:
            raise ValueError("one of " + ", ".join(repr(choice) for choice in values))
        return value

    return convert


def optional(convert: Callable[[Any], Any]) -> Callable[[Any], Optional[Any]]:
    return lambda value: None if value is None else convert(value)


def shortened(value: Any) -> str:
    """The value as text, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
