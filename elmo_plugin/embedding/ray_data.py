"""
Vectors on a cluster, with Ray Data: a dataset with a column of text in, vectors out, one biLM in each worker.

    import ray
    from elmo_plugin.embedding.ray_data import embed_dataset, write_vectors

    text = ray.data.read_text("s3://corpus/")
    embed_dataset(text, weights="original", workers=8, gpus=1)  # a dataset with a column "vectors"
    write_vectors(text, "s3://vectors/", weights="original", workers=8, gpus=1)  # files; goes on if stopped
"""

from typing import Any, Dict, Optional

from elmo_plugin.embedding.partitions import Partition, PartitionFolder
from elmo_plugin.embedding.workers import EmbeddingWorker, WorkerSettings, WritingWorker
from elmo_plugin.embedding.writers.parquet import load_arrow
from elmo_plugin.engine.errors import BackendUnavailableError, OptionsError


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
    return _mapped(dataset, EmbeddingWorker, workers, batch_rows, (WorkerSettings(**settings),))


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
    done = _mapped(dataset, WritingWorker, workers, None, (WorkerSettings(**settings), folder, partition_rows))
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
