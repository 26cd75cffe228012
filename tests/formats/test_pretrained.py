import sys

import pytest

from elmo_plugin.engine.errors import BackendUnavailableError, WeightFileError
from elmo_plugin.formats import pretrained


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


def test_published_names_and_urls_are_fetched_as_pairs(monkeypatch, tmp_path):
    fetched = []

    def cached_path(url):
        fetched.append(url)
        return str(tmp_path / str(len(fetched)))

    monkeypatch.setattr(pretrained, "_cached_path", lambda: cached_path)

    assert pretrained.locate("small") == (tmp_path / "1", tmp_path / "2")
    assert tuple(fetched) == pretrained.urls("small")
    assert pretrained.locate("https://host/x_weights.hdf5") == (tmp_path / "3", tmp_path / "4")
    assert fetched[2:] == ["https://host/x_options.json", "https://host/x_weights.hdf5"]
    assert pretrained.locate("https://host/x.safetensors") == (None, tmp_path / "5")
    assert pretrained.locate("some/path") is None


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
