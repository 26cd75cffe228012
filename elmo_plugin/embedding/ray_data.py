"""
Vectors on a cluster, with Ray Data: a dataset with a column of text in, vectors out, one biLM in each worker.

    import ray
    from elmo_plugin.embedding.ray_data import embed_dataset, write_vectors

    text = ray.data.read_text("s3://corpus/")
    embed_dataset(text, weights="original", workers=8, gpus=1)  # a dataset with a column "vectors"
    write_vectors(text, "s3://vectors/", weights="original", workers=8, gpus=1)  # files; goes on if stopped
"""

import logging
from typing import Any, Dict, Iterator, NamedTuple, Optional

import numpy as np

from elmo_plugin.embedding.embedder import DEFAULT_WEIGHTS, SentenceEmbedder, build_bilm
from elmo_plugin.embedding.layers import Choice
from elmo_plugin.embedding.partitions import Partition, PartitionFolder
from elmo_plugin.embedding.text import TextLine
from elmo_plugin.embedding.windows import Limits, windows
from elmo_plugin.embedding.writers.parquet import load_arrow, token_type, vector_column
from elmo_plugin.engine.errors import BackendUnavailableError, OptionsError
from elmo_plugin.engine.fingerprint import fingerprint
from elmo_plugin.engine.state import CARRIED, RESET
from elmo_plugin.formats import read_weights

logger = logging.getLogger(__name__)

VECTORS = "vectors"
DTYPES = ("float32", "float16")

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
    dtype : of the vectors: "float32", or "float16" for half the space and 3 to 4 digits.
    text : the column.
    gpus, cpus : of each worker.
    """

    weights: str = DEFAULT_WEIGHTS
    layers: Choice = "top"
    state: str = RESET
    backend: str = "auto"
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
        if self.dtype not in DTYPES:
            raise OptionsError(f"dtype is {self.dtype!r}; choose one of {list(DTYPES)}.")


def embed_dataset(dataset: Any, *, workers: int = 1, batch_rows: int = 1024, **settings: Any) -> Any:
    """
    Add a column `vectors` to a dataset.

    # Parameters

    dataset : `ray.data.Dataset`.
    workers : each has a biLM of its own.
    batch_rows : sentences that a worker takes at once.
    settings : fields of `WorkerSettings`.

    # Returns

    `ray.data.Dataset`, lazy as Ray's are; `vectors` has for each token a list of numbers, or of layers.
    """
    return _mapped(dataset, _Embed, workers, batch_rows, (WorkerSettings(**settings),))


def write_vectors(
    dataset: Any, folder: str, *, workers: int = 1, partition_rows: int = 10_000, **settings: Any
) -> Dict[str, int]:
    """
    Write a dataset with its vectors as Parquet files, and go on where an earlier call was stopped.

    Each block of the dataset is cut into partitions. A partition is known by what is in it, so that one that is written
    is not computed again, in whatever order blocks come. The file `manifest.json` comes last and names all others.

    # Parameters

    dataset : `ray.data.Dataset`.
    folder : a path that all machines share, or a URI such as `s3://...`; for this dataset alone.
    workers : each has a biLM of its own.
    partition_rows : sentences in a file.
    settings : fields of `WorkerSettings`.

    # Returns

    "partitions", "computed" (those among them that were not there before), "sentences", "tokens".
    """
    if partition_rows < 1:
        raise OptionsError(f"partition_rows is {partition_rows}, expected 1 or more.")
    target = PartitionFolder(folder)
    target.make()
    done = _mapped(dataset, _Write, workers, None, (WorkerSettings(**settings), folder, partition_rows))
    rows = [Partition(**row) for row in done.take_all()]
    target.finish(rows, WorkerSettings(**settings)._asdict())
    return {
        "partitions": len(rows),
        "computed": sum(row.is_new for row in rows),
        "sentences": sum(row.sentences for row in rows),
        "tokens": sum(row.tokens for row in rows),
    }


def _mapped(dataset: Any, worker: type, workers: int, batch_rows: Optional[int], arguments: Any) -> Any:
    settings: WorkerSettings = arguments[0]
    settings.check()
    load_arrow()
    return dataset.map_batches(
        worker,
        fn_constructor_args=arguments,
        batch_size=batch_rows,
        batch_format="pyarrow",
        compute=_ray_data().ActorPoolStrategy(size=workers),
        num_cpus=settings.cpus,
        num_gpus=settings.gpus,
    )


def _ray_data() -> Any:
    try:
        import ray.data
    except ImportError as error:
        raise BackendUnavailableError(
            'vectors on a cluster need the package ray, which is not installed: pip install "elmo_plugin[ray]".'
        ) from error
    return ray.data


class _Embed:
    """A worker: tables of sentences to tables with their vectors."""

    def __init__(self, settings: WorkerSettings) -> None:
        import torch

        torch.set_num_threads(max(1, int(settings.cpus)))
        self.settings = settings
        found = read_weights(settings.weights, softmax=False)
        # Ray shows each worker its own GPUs only.
        device = "cuda" if settings.gpus else "cpu"
        bilm = build_bilm(found, state=settings.state, backend=settings.backend, device=device)
        self.embedder = SentenceEmbedder(bilm, found.vocabulary, settings.layers)
        self.shape = self.embedder.choice.shape(1, bilm.output_dim)[1:]
        self.fingerprint = fingerprint(bilm).hex()

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
            vectors = self.embedder.embed(tokens).astype(self.settings.dtype)
            lengths = np.array([len(line) for line in tokens], dtype=np.int64)
            piece = table.slice(window[0].number, len(window))
            columns = [*piece.columns, vector_column(arrow, vectors, lengths)]
            yield arrow.Table.from_arrays(columns, schema=schema)


class _Write:
    """A worker: tables of sentences to files, and a row about each."""

    def __init__(self, settings: WorkerSettings, folder: str, partition_rows: int) -> None:
        self._embed = _Embed(settings)
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


def _numbers(embed: _Embed) -> Dict[str, Any]:
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
