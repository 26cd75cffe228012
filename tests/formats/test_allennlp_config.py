"""Which options.json the configuration of an archive of AllenNLP names."""

import json
from pathlib import Path

import pytest

from elmo_plugin.engine.errors import FormatError
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.formats import pretrained
from elmo_plugin.formats.allennlp_config import options_named
from tests import tiny


def test_a_file_wherever_it_is_named(tmp_path):
    options_file, _ = tiny.write(tmp_path)
    embedder = {"type": "elmo_token_embedder", "options_file": options_file}
    config = json.dumps({"model": {"embedders": [{"elmo": embedder}, {"again": embedder}]}})

    assert options_named(config, "here") == BiLmOptions.from_file(options_file)


@pytest.mark.parametrize(
    "config, message",
    [
        ("{", "its config.json is not JSON"),
        ("[" * 100_000, "its config.json is not JSON"),
        (None, "its config.json names no options.json"),
        ("[]", "its config.json names no options.json"),
        ('[{"options_file": "a"}, {"options_file": "b"}]', "its config.json names a, b"),
        ('{"options_file": "/gone/options.json"}', "names /gone/options.json, which is not on this machine"),
        ('{"options_file": "https://example.org/o.json"}', "names https://example.org/o.json, which is not on this"),
    ],
    ids=lambda text: str(text)[:40],
)
def test_options_that_are_not_given(config, message):
    with pytest.raises(FormatError, match=f"here: .*{message}"):
        options_named(config, "here")


@pytest.mark.parametrize("name", ["original", "small"])
def test_published_options_are_fetched_and_nothing_else(name, tmp_path, monkeypatch):
    fetched = []
    options_file = Path(tiny.write(tmp_path)[0])
    monkeypatch.setattr(pretrained, "fetch", lambda url: fetched.append(url) or options_file)
    embedder = {"type": "elmo_token_embedder"}  # whose default is the original
    if name != "original":
        embedder["options_file"] = pretrained.urls(name)[0]

    assert options_named(json.dumps(embedder), "here") == BiLmOptions.from_file(options_file)
    assert fetched == [pretrained.urls(name)[0]]
