"""Two workers of a local Ray."""

import json

import numpy as np
import pytest

pytest.importorskip("h5py")
ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")

from elmo_plugin.elmo_embedder import ElmoEmbedder  # noqa: E402
from elmo_plugin.embedding.ray_data import embed_dataset, write_vectors  # noqa: E402
from elmo_plugin.engine.errors import OptionsError  # noqa: E402
from tests import tiny  # noqa: E402

TEXTS = ["The cat sat .", "", "naïve 日本語", "a " * 30, "The cat sat ."]


# Each worker imports all of this package: a minute and more on a busy machine. What a worker does is tested in
# test_workers.py.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "disabled")
        ray.init(num_cpus=3, include_dashboard=False, object_store_memory=200 * 2**20, log_to_driver=False)
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield
        ray.shutdown()


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    folder = tmp_path_factory.mktemp("biLM")
    tiny.write(folder)
    return str(folder)


def dataset(texts, blocks):
    rows = [{"id": number, "text": text} for number, text in enumerate(texts)]
    return ray.data.from_items(rows, override_num_blocks=blocks)


@pytest.mark.parametrize("layers,dtype,tolerance", [("all", "float32", 1e-5), ("top", "float16", 2e-3)])
def test_a_column_of_vectors(cluster, weights, layers, dtype, tolerance):
    settings = {"weights": weights, "layers": layers, "dtype": dtype}
    rows = embed_dataset(dataset(TEXTS * 4, 4), workers=2, batch_rows=3, **settings).take_all()
    elmo = ElmoEmbedder(weights=weights, state="reset")

    assert sorted(row["id"] for row in rows) == list(range(20))
    for row in rows:
        expected = elmo.embed_sentence(row["text"].split()).transpose(1, 0, 2)
        expected = expected if layers == "all" else expected[:, -1]
        assert len(row["vectors"]) == len(expected)
        if len(expected):
            np.testing.assert_allclose(np.array([np.stack(v) for v in row["vectors"]]), expected, atol=tolerance)


def test_files_are_gone_on_with(cluster, weights, tmp_path):
    import pyarrow.parquet

    folder = tmp_path / "vectors"
    text = dataset([f"{text} {number}" for number, text in enumerate(TEXTS * 4)], 2)
    settings = {"workers": 2, "partition_rows": 6, "weights": weights, "dtype": "float32"}
    first = write_vectors(text, str(folder), **settings)
    assert first == {"partitions": 4, "computed": 4, "sentences": 20, "tokens": 4 * (5 + 1 + 3 + 31 + 5)}
    files = {path: path.read_bytes() for path in folder.glob("*.parquet")}
    lost = sorted(files)[1]
    lost.unlink()

    again = write_vectors(text, str(folder), **settings)
    assert again == {**first, "computed": 1}
    assert {path: path.read_bytes() for path in folder.glob("*.parquet")} == files
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["files"] == sorted(path.name for path in files) and manifest["sentences"] == 20
    rows = pyarrow.parquet.read_table([str(path) for path in files]).to_pylist()
    assert sorted(row["id"] for row in rows) == list(range(20))
    elmo = ElmoEmbedder(weights=weights, state="reset")
    for row in rows:
        # In another batch: this biLM's weights make much of rounding.
        np.testing.assert_allclose(row["vectors"], elmo.embed_sentence(row["text"].split())[-1], atol=1e-4)

    other = write_vectors(text, str(folder), **{**settings, "layers": "average"})
    assert other["computed"] == 4


def test_equal_partitions_are_all_there(cluster, weights, tmp_path):
    text = ray.data.from_items([{"text": "a b"}] * 8, override_num_blocks=4)
    done = write_vectors(text, str(tmp_path), workers=2, partition_rows=2, weights=weights)

    assert done["sentences"] == 8 and done["tokens"] == 16
    assert len(list(tmp_path.glob("*.parquet"))) == done["partitions"] == 4


@pytest.mark.parametrize(
    "settings,message",
    [({"state": "carried"}, 'state is "carried"'), ({"dtype": "int8"}, "dtype is 'int8'; choose one of")],
)
def test_what_no_worker_can_do_is_refused_at_once(settings, message):
    with pytest.raises(OptionsError, match=message):
        embed_dataset(None, **settings)


def test_the_column_is_named(cluster, weights):
    found = embed_dataset(dataset(TEXTS, 1), weights=weights, text="sentence")
    with pytest.raises(Exception, match="no column 'sentence' but"):
        found.take_all()
