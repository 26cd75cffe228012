"""Archives that are dropped into the page."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.engine import FormatError
from elmo_plugin.explorer.archives import from_json, read_archive, to_json
from elmo_plugin.explorer.limits import Limits
from elmo_plugin.explorer.text import PageError
from tests.formats.test_layer_mixes import archive, config, our_state

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["task", "layers"]), inner),
)


def test_an_archive_is_a_line_for_each_mix(tmp_path):
    path = archive(tmp_path / "upload", our_state(mixes=2), {"model": config()})

    found = read_archive(path, " my task ")

    assert [(one.task, one.place, one.gamma, one.seeds) for one in found] == [
        ("my task", "input", 0.5, 1),
        ("my task", "output", 1.5, 1),
    ]
    assert from_json(json.loads(json.dumps(to_json(found)))) == found


def test_several_embedders_are_told_apart(tmp_path):
    state = {**our_state(prefix="a.token_embedder_elmo."), **our_state(prefix="b.token_embedder_elmo.")}
    path = archive(tmp_path / "upload", state, {"model": config()})

    assert [one.task for one in read_archive(path, "x")] == ["x, a.token_embedder_elmo", "x, b.token_embedder_elmo"]


def test_a_cut_archive_is_called_by_the_name_of_its_owner(tmp_path):
    path = archive(tmp_path / "upload", our_state(), {"model": config()})
    content = path.read_bytes()
    for size in (10, len(content) // 2):
        path.write_bytes(content[:size])
        with pytest.raises(FormatError, match="^mine: damaged archive"):
            read_archive(path, "mine")


def test_limits_of_the_page_hold(tmp_path):
    path = archive(tmp_path / "upload", our_state(), zeros=bytes(1 << 20))

    with pytest.raises(FormatError, match="^x: unpacks to more than"):
        read_archive(path, "x", Limits(unpacked=1 << 19))
    line = to_json(read_archive(path, "x"))
    with pytest.raises(PageError, match="3 mixes are more than the 2 .*Remove all, and drop fewer"):
        from_json(line * 3, Limits(mixes=2))


@given(ANYTHING)
def test_what_a_browser_sends_is_read_or_refused(data):
    try:
        found = from_json(data)
    except PageError:
        return
    assert all(isinstance(one.task, str) for one in found)
