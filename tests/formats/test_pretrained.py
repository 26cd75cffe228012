import json
import os
import sys

import pytest

from elmo_plugin.engine.errors import BackendUnavailableError, WeightFileError
from elmo_plugin.formats import pretrained
from tests import tiny


def test_names():
    assert pretrained.names() == ["builtin", "small", "medium", "original", "original_5.5B"]
    for name in pretrained.names()[1:]:
        options_url, weight_url = pretrained.urls(name)
        assert options_url.endswith("_options.json") and weight_url.endswith("_weights.hdf5")
        assert options_url.startswith("https://allennlp.s3.amazonaws.com/models/elmo/2x")


def test_the_original_is_allennlps_default():
    embedder = pytest.importorskip("allennlp.modules.token_embedders.elmo_token_embedder")
    defaults = embedder.ElmoTokenEmbedder.__init__.__defaults__

    assert pretrained.urls("original") == defaults[:2]


SMALL = tiny.options(
    cells=1024,
    projection=128,
    filters=[[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
    highways=1,
    character_dim=16,
)
SIZE_OF_SMALL = 54_373_184  # of its numbers; the file has a little more


@pytest.fixture
def fetched(monkeypatch, tmp_path):
    """What was asked of a cache that gives `small`, and where its files are."""
    options_file, weight_file = tmp_path / "options", tmp_path / "weights"
    options_file.write_text(json.dumps(SMALL))
    with weight_file.open("wb") as file:
        file.truncate(SIZE_OF_SMALL)
    urls = []

    def cached_path(url):
        urls.append(url)
        return str(options_file if url.endswith(".json") else weight_file)

    monkeypatch.setattr(pretrained, "_cached_path", lambda: cached_path)
    return urls


def test_published_names_and_urls_are_fetched_as_pairs(tmp_path, fetched):
    pair = (tmp_path / "options", tmp_path / "weights")

    assert pretrained.locate("small") == pair
    assert tuple(fetched) == pretrained.urls("small")
    assert pretrained.locate("https://host/x_weights.hdf5") == pair
    assert fetched[2:] == ["https://host/x_options.json", "https://host/x_weights.hdf5"]
    assert pretrained.locate("https://host/x.safetensors") == (None, tmp_path / "weights")
    assert pretrained.locate("some/path") is None


def test_a_published_biLM_is_not_taken_for_another(tmp_path, fetched):
    with pytest.raises(
        WeightFileError,
        match="2x2048_256.*options, which was fetched from there, describes another biLM than 'medium': found 2 "
        "layers of 1024 cells, projection 128, 2048 filters, 1 highway layers, expected 2 layers of 2048",
    ):
        pretrained.locate("medium")
    (tmp_path / "options").write_text(json.dumps(tiny.options(words=5)))
    with pytest.raises(WeightFileError, match="describes another biLM than 'small': found 2 layers of 12 cells"):
        pretrained.locate("small")


def test_what_is_no_biLM_at_all_is_named_with_its_address(tmp_path, fetched):
    (tmp_path / "options").write_text("<html>log in first</html>")
    with pytest.raises(
        WeightFileError, match="https://.*options.json: what was fetched are not the options .*not a JSON"
    ):
        pretrained.locate("small")


def test_half_a_download_is_named_with_its_size(tmp_path, fetched):
    with (tmp_path / "weights").open("r+b") as file:
        file.truncate(1_000_000)
    with pytest.raises(
        WeightFileError,
        match=r"https://.*weights.hdf5: .*weights, which was fetched from there, has 1,000,000 bytes, expected "
        "54,373,184 or more for 'small'; it is cut off or something else. Delete it from AllenNLP's cache",
    ):
        pretrained.locate("small")


def test_addresses_behind_what_a_user_names():
    pair = ["https://x.org/a_options.json", "https://x.org/a_weights.hdf5"]
    assert pretrained.addresses(pair[1]) == pair and pretrained.addresses(pair[0]) == pair[:1]
    assert pretrained.addresses("original") == list(pretrained.urls("original"))
    assert pretrained.addresses("builtin") == pretrained.addresses("some/weights.hdf5") == []


def test_the_cache_has_the_latest_of_an_address(monkeypatch, tmp_path):
    from cached_path import resource_to_filename

    monkeypatch.setattr("allennlp.common.file_utils.CACHE_DIRECTORY", str(tmp_path))
    address = "https://x.org/a.hdf5"
    assert pretrained.cached(address) is None
    for age, tag in enumerate(("new", "old")):
        path = tmp_path / resource_to_filename(address, tag)
        path.write_text(tag)
        os.utime(path, (1000 - age, 1000 - age))

    assert pretrained.cached(address).read_text() == "new"


def test_a_failed_download_names_the_url(monkeypatch):
    def cached_path(url):
        raise ConnectionError("no route")

    monkeypatch.setattr(pretrained, "_cached_path", lambda: cached_path)
    with pytest.raises(
        WeightFileError, match=r"https://.*2x1024.*could not be fetched \(no route\)\. Check the address"
    ):
        pretrained.locate("small")


def test_fetching_without_allennlp(monkeypatch):
    monkeypatch.setitem(sys.modules, "allennlp.common.file_utils", None)

    with pytest.raises(BackendUnavailableError, match="needs AllenNLP's cache: install allennlp, or download"):
        pretrained.locate("small")


def test_builtin(monkeypatch, tmp_path):
    monkeypatch.setattr(pretrained, "_FOLDER", tmp_path)
    with pytest.raises(WeightFileError, match="expected one .safetensors file, the biLM named 'builtin', found none"):
        pretrained.locate("builtin")
    (tmp_path / "a.safetensors").touch()
    assert pretrained.locate("builtin") == (None, tmp_path / "a.safetensors")
