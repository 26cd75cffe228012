import pytest

from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.formats.architecture import draft_options, missing_options
from elmo_plugin.formats.names import hdf5_shapes
from tests import tiny


@pytest.mark.parametrize("changes", [{}, {"layers": 1}, {"layers": 11}, {"words": 7}, {"highways": 0}], ids=str)
def test_a_draft_and_what_it_misses_make_the_options(changes):
    content = tiny.options(**changes)
    draft = draft_options(hdf5_shapes(BiLmOptions.from_dict(content)))
    for key in missing_options(draft):
        section, _, name = key.partition(".")
        draft[section][name] = content[section][name]

    assert draft == content


def test_odd_shapes_leave_gaps():
    assert draft_options({}) == {"lstm": {"n_layers": 0}}
    assert (
        draft_options({"char_embed": (), "RNN_0/RNN/LSTMCell/B": (), "CNN/W_cnn_0": (1,)})["char_cnn"]["filters"] == []
    )
