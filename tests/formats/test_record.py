"""The record of a biLM: bytes in a state dict, text in its metadata."""

import json
from collections import OrderedDict

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.engine import BiLmOptions, FormatError, OptionsError
from elmo_plugin.formats.record import METADATA, BiLmRecord, records_in
from tests import tiny

OPTIONS = BiLmOptions.from_dict(tiny.options())


@given(
    source=st.text(),
    tensors=st.sampled_from(["bilm.", ""]),
    layout=st.sampled_from(["engine", "allennlp", "lstm"]),
    vocabulary=st.none() | st.lists(st.text(st.characters(exclude_categories=["Cs"]))),
    softmax=st.sampled_from([None, {"weight": "softmax.weight", "bias": "softmax.bias"}]),
)
def test_round_trip(source, tensors, layout, vocabulary, softmax):
    record = BiLmRecord(OPTIONS, source.encode("utf-8", "ignore").decode(), tensors, layout, vocabulary, softmax)

    assert BiLmRecord.from_tensor(record.to_tensor(), "here") == record
    assert BiLmRecord.from_json(record.to_json(), "here") == record


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": "other/1", "layout": "engine"}', '{"format": "elmo_plugin.bilm/1"}', "[" * 100_000],
    ids=lambda text: text[:40],
)
def test_other_text_is_refused(text):
    with pytest.raises(FormatError, match="here"):
        BiLmRecord.from_json(text, "here")


def test_a_layout_that_there_is_not_is_named():
    data = {**json.loads(BiLmRecord(OPTIONS, "x").to_json()), "layout": "other"}

    with pytest.raises(FormatError, match=r"here: a record with the layout 'other', expected one of \['engine', "):
        BiLmRecord.from_json(json.dumps(data), "here")


@pytest.mark.parametrize(
    "change",
    [
        {"source": None},
        {"tensors": 5},
        {"vocabulary": "abc"},
        {"vocabulary": 5},
        {"vocabulary": [1]},
        {"softmax": ["weight"]},
        {"softmax": {"weight": "w"}},
        {"softmax": {"weight": "w", "bias": 1}},
    ],
    ids=str,
)
def test_parts_of_another_type_are_refused(change):
    data = {**json.loads(BiLmRecord(OPTIONS, "x").to_json()), **change}

    with pytest.raises(FormatError, match="here: not the record of a biLM"):
        BiLmRecord.from_json(json.dumps(data), "here")


def test_unusable_options_are_refused():
    text = BiLmRecord(OPTIONS, "x").to_json().replace('"n_layers": 2', '"n_layers": 0')

    with pytest.raises(OptionsError, match="here.*n_layers"):
        BiLmRecord.from_json(text, "here")


@pytest.mark.parametrize(
    "tensor", [torch.zeros(3), torch.zeros(2, 2, dtype=torch.uint8), torch.full((4,), 255, dtype=torch.uint8), None]
)
def test_other_tensors_are_refused(tensor):
    with pytest.raises(FormatError, match="here: not the record of a biLM"):
        BiLmRecord.from_tensor(tensor, "here")


def test_records_are_found_among_other_things():
    first, second, third = (BiLmRecord(OPTIONS, name) for name in ("first", "second", "third"))
    state = OrderedDict(
        {
            "_extra_state": first.to_tensor(),
            "encoder.weight": torch.zeros(2),
            "encoder._extra_state": {"of": "someone else"},
            "other._extra_state": torch.zeros(0, dtype=torch.uint8),
            "a.b._extra_state": second.to_tensor(),
        }
    )
    state._metadata = {"c": {"version": 1, METADATA: third.to_json()}, "d": {"version": 1}}

    assert records_in(state, "here") == {"": first, "a.b.": second, "c.": third}
