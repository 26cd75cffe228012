"""Readers that take a part of what another one reads leave single instances to it."""

import pytest

pytest.importorskip("allennlp")

from allennlp.common import Params
from allennlp.data import DatasetReader


@pytest.mark.parametrize("wrapping", [{"type": "fraction", "fraction": 0.5}, {"type": "slice"}])
def test_text_becomes_an_instance_as_with_the_reader(wrapping):
    reader = DatasetReader.from_params(
        Params({**wrapping, "reader": {"type": "snli", "tokenizer": {"type": "just_spaces"}}})
    )

    instance = reader.text_to_instance("a b", "c")
    reader.apply_token_indexers(instance)

    assert list(instance["premise"].token_indexers) == ["tokens"]
