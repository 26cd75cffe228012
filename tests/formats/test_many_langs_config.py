import json

import pytest

from elmo_plugin.formats.many_langs_config import read_config
from tests.formats import many_langs


@pytest.mark.parametrize("clip,expected", [(3, 3), (0, None), (None, None), (0.5, 0.5)])
def test_sizes(tmp_path, clip, expected):
    """A clip of 0 is none, as in that program."""
    (tmp_path / "config.json").write_text(json.dumps(many_langs.config(clip=clip)))
    found = read_config(tmp_path)

    assert (found.lstm.dim, found.lstm.projection_dim, found.lstm.n_layers) == (7, 4, 2)
    assert found.lstm.cell_clip == found.lstm.proj_clip == expected
    assert found.lstm.use_skip_connections
    assert found.char_cnn.filters == ((1, 2), (2, 3), (3, 4))
    assert (found.char_cnn.embedding_dim, found.char_cnn.max_characters_per_token, found.word_dim) == (5, 12, 3)
