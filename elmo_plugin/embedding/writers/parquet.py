"""
A row for each line, for pandas, Polars, Spark, DuckDB and Ray: `line`, `tokens`, `vectors`.

`vectors` holds a list for each token: the numbers of its vector, or a list of them for each layer.
"""

import json
from pathlib import Path
from typing import Any, Iterator, Tuple

import numpy as np

from elmo_plugin.embedding.part_file import WindowVectors
from elmo_plugin.embedding.writers.base import Description, Keys, VectorWriter
from elmo_plugin.engine.errors import BackendUnavailableError

_DESCRIPTION = b"elmo_plugin"

# A vector has hundreds of numbers: pyarrow's own 1,024 are few.
_VALUES_AT_ONCE = 1 << 16

# Of vectors that pyarrow makes a column of at once: what it needs for that, as much again, stays in the caches.
_BYTES_AT_ONCE = 1 << 20


class ParquetWriter(VectorWriter):
    """`vectors` as nested lists of fixed length, float32; a row group for each window. The format "parquet"."""

    name = "parquet"

    def __init__(self, path: Path, shape: Tuple[int, ...], keys: Keys, is_repeatable: bool) -> None:
        super().__init__(path, shape, keys, is_repeatable)
        self._arrow = load_arrow()
        self._writer = ParquetFile(path, self._schema())

    @classmethod
    def check(cls, keys: Keys) -> None:
        super().check(keys)
        load_arrow()

    def _schema(self) -> Any:
        arrow = self._arrow
        return arrow.schema(
            [
                ("line", arrow.int64()),
                ("tokens", arrow.list_(arrow.string())),
                ("vectors", arrow.list_(token_type(arrow, self.shape, arrow.float32()))),
            ]
        )

    def add(self, window: WindowVectors) -> None:
        arrow = self._arrow
        numbers = np.arange(window.first, window.first + len(window.texts), dtype=np.int64)
        columns = [
            arrow.array(numbers),
            arrow.array([text.split() for text in window.texts], type=arrow.list_(arrow.string())),
            arrow.chunked_array(list(self._vector_chunks(window)), type=self._writer.schema.field("vectors").type),
        ]
        self._writer.write(arrow.Table.from_arrays(columns, schema=self._writer.schema))

    def _vector_chunks(self, window: WindowVectors) -> Iterator[Any]:
        ends = window.lengths.cumsum()
        full = np.flatnonzero(np.diff(ends * 4 * int(np.prod(self.shape)) // _BYTES_AT_ONCE, prepend=0))
        start = token = 0
        for last in np.union1d(full, [len(ends) - 1]).tolist():
            yield vector_column(self._arrow, window.vectors[token : ends[last]], window.lengths[start : last + 1])
            start, token = last + 1, ends[last]

    def close(self, description: Description) -> None:
        self._writer.close({_DESCRIPTION: json.dumps(description).encode("utf-8")})

    def abandon(self) -> None:
        self._writer.close({})

    @staticmethod
    def is_mine(begin: bytes) -> bool:
        return begin.startswith(b"PAR1")

    @staticmethod
    def describe(path: Path) -> Description:
        arrow = load_arrow()
        try:
            found = arrow.parquet.read_metadata(path).metadata or {}
        except (arrow.ArrowException, OSError):
            return {}
        return dict(json.loads(found.get(_DESCRIPTION, b"{}")))


class ParquetFile:
    """
    A Parquet file of vectors: not compressed, since nothing is gained.

    # Parameters

    target : a path or an open file.
    schema : of the tables that are written.
    """

    def __init__(self, target: Any, schema: Any) -> None:
        self.schema = schema
        self._writer = load_arrow().parquet.ParquetWriter(
            target,
            schema,
            compression="none",
            use_dictionary=False,
            write_statistics=False,
            write_batch_size=_VALUES_AT_ONCE,
        )

    def write(self, table: Any) -> None:
        """Append a row group."""
        if table.num_rows:
            self._writer.write_table(table, row_group_size=table.num_rows)

    def close(self, metadata: Any) -> None:
        """Finish the file."""
        if metadata:
            self._writer.add_key_value_metadata(metadata)
        self._writer.close()


def token_type(arrow: Any, shape: Tuple[int, ...], element: Any) -> Any:
    """The type of one token's vectors."""
    for size in reversed(shape):
        element = arrow.list_(element, size)
    return element


def vector_column(arrow: Any, vectors: np.ndarray, lengths: np.ndarray) -> Any:
    """
    Make the column of vectors without a Python object for each number.

    # Parameters

    vectors : `(tokens, ...)`, of all rows.
    lengths : tokens of each row.
    """
    values = arrow.array(np.ascontiguousarray(vectors).reshape(-1))
    for size in reversed(vectors.shape[1:]):
        values = arrow.FixedSizeListArray.from_arrays(values, size)
    offsets = np.concatenate([np.zeros(1, dtype=np.int32), lengths.cumsum(dtype=np.int32)])
    return arrow.ListArray.from_arrays(arrow.array(offsets), values)


def load_arrow() -> Any:
    """
    Import pyarrow.

    # Raises

    `BackendUnavailableError` where it is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise BackendUnavailableError(
            'format "parquet" needs the package pyarrow, which is not installed: pip install "elmo_plugin[parquet]".'
        ) from error
    return pyarrow
