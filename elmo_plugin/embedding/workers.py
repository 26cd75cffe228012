"""What each worker of a cluster does: tables of sentences to tables, or files, of vectors. None needs the cluster."""

from typing import Any, Dict, Iterator, NamedTuple

import numpy as np
import torch

from elmo_plugin.embedding.embedder import DEFAULT_WEIGHTS, SentenceEmbedder, build_bilm
from elmo_plugin.embedding.layers import Choice
from elmo_plugin.embedding.partitions import PartitionFolder
from elmo_plugin.embedding.rounding import check_dtype, rounded
from elmo_plugin.embedding.text import TextLine
from elmo_plugin.embedding.windows import Limits, windows
from elmo_plugin.embedding.writers.parquet import load_arrow, token_type, vector_column
from elmo_plugin.engine.backends.base import FLOAT32
from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.state import CARRIED, RESET
from elmo_plugin.formats import read_weights

VECTORS = "vectors"

# Tokens whose vectors a worker holds at once.
_WINDOW = Limits(lines=8192, tokens=1 << 16)


class WorkerSettings(NamedTuple):
    """
    What a worker needs to know. The column `text` holds sentences, tokenised, with white space between the tokens.

    # Parameters

    weights : the biLM, a name, path or URL that means the same on every machine.
    layers : as `LayerChoice` takes them.
    state : "reset" or "warm".
    backend : "auto", or the name of a backend.
    precision : of the biLM's products, as `BiLm` takes it.
    dtype : of the vectors: "float32", or "float16" for half the space and 3 to 4 digits.
    text : the column.
    gpus, cpus : of each worker.
    """

    weights: str = DEFAULT_WEIGHTS
    layers: Choice = "top"
    state: str = RESET
    backend: str = "auto"
    precision: str = FLOAT32
    dtype: str = "float16"
    text: str = "text"
    gpus: float = 0
    cpus: int = 1

    def check(self) -> None:
        """Raise `OptionsError` for what no worker can do."""
        if self.state == CARRIED:
            raise OptionsError(
                'state is "carried": sentences of a cluster have no order in which it could go from one to the next. '
                'Use "reset" or "warm".'
            )
        check_dtype(self.dtype)


class EmbeddingWorker:
    """
    Tables of sentences to tables with their vectors. Called with a `pyarrow.Table`.

    # Parameters

    settings : what to do; the biLM is read here.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        torch.set_num_threads(max(1, int(settings.cpus)))
        self.settings = settings
        found = read_weights(settings.weights, softmax=False)
        # Ray shows each worker its own GPUs only.
        device = "cuda" if settings.gpus else "cpu"
        bilm = build_bilm(
            found, state=settings.state, backend=settings.backend, device=device, precision=settings.precision
        )
        self.embedder = SentenceEmbedder(bilm, found.vocabulary, settings.layers)
        self.shape = self.embedder.choice.shape(1, bilm.output_dim)[1:]
        self.fingerprint = self.embedder.fingerprint()

    def __call__(self, table: Any) -> Any:
        arrow = load_arrow()
        return arrow.concat_tables([self.schema_of(table).empty_table(), *self.tables(table)])

    def schema_of(self, table: Any) -> Any:
        """The schema of a table with its vectors."""
        arrow = load_arrow()
        if self.settings.text not in table.column_names:
            raise OptionsError(
                f"the dataset has no column {self.settings.text!r} but {table.column_names}; name the one with the "
                'sentences: text="...".'
            )
        found = table.schema.field(self.settings.text).type
        if not (arrow.types.is_string(found) or arrow.types.is_large_string(found)):
            raise OptionsError(f"the column {self.settings.text!r} holds {found}, expected text.")
        if VECTORS in table.column_names:
            raise OptionsError(
                f"the dataset has a column {VECTORS!r} already, and that is what the vectors are called. Rename it, or "
                "leave it out."
            )
        element = arrow.float16() if self.settings.dtype == "float16" else arrow.float32()
        return table.schema.append(arrow.field(VECTORS, arrow.list_(token_type(arrow, self.shape, element))))

    def tables(self, table: Any) -> Iterator[Any]:
        """Yield the table with its vectors, in pieces of bounded size."""
        arrow = load_arrow()
        schema = self.schema_of(table)
        texts = table.column(self.settings.text).to_pylist()
        lines = (TextLine(number, text or "", (text or "").split()) for number, text in enumerate(texts))
        for window in windows(lines, _WINDOW):
            tokens = [line.tokens for line in window]
            where = f"sentences {window[0].number} to {window[-1].number} of a table"
            vectors = rounded(self.embedder.embed(tokens), self.settings.dtype, where)
            lengths = np.array([len(line) for line in tokens], dtype=np.int64)
            piece = table.slice(window[0].number, len(window))
            columns = [*piece.columns, vector_column(arrow, vectors, lengths)]
            yield arrow.Table.from_arrays(columns, schema=schema)


class WritingWorker:
    """
    Tables of sentences to files, and a table with a row about each: the fields of `Partition`.

    # Parameters

    settings : what to do.
    folder : where the files go.
    partition_rows : sentences in a file.
    """

    def __init__(self, settings: WorkerSettings, folder: str, partition_rows: int) -> None:
        self._embed = EmbeddingWorker(settings)
        self._folder = PartitionFolder(folder)
        self._rows = partition_rows

    def __call__(self, table: Any) -> Any:
        embed = self._embed
        about = {"weights_fingerprint": embed.fingerprint, "layers": embed.embedder.choice.name, **_numbers(embed)}
        written = []
        for start in range(0, table.num_rows, self._rows):
            partition = table.slice(start, self._rows)
            embed.embedder.begin_part()
            written.append(self._folder.write(partition, embed.schema_of(partition), about, embed.tables, _tokens))
        return load_arrow().Table.from_pylist([row._asdict() for row in written], schema=_summary_schema())


def _numbers(embed: EmbeddingWorker) -> Dict[str, Any]:
    return {"dtype": embed.settings.dtype, "text": embed.settings.text}


def _tokens(table: Any) -> int:
    arrow = load_arrow()

    return int(arrow.compute.sum(arrow.compute.list_value_length(table.column(VECTORS))).as_py() or 0)


def _summary_schema() -> Any:
    arrow = load_arrow()
    return arrow.schema(
        [
            ("name", arrow.string()),
            ("sentences", arrow.int64()),
            ("tokens", arrow.int64()),
            ("is_new", arrow.bool_()),
        ]
    )
