"""The layer cache in a configuration: its forms, and what it cannot be combined with."""

import pytest

pytest.importorskip("allennlp")
pytest.importorskip("lmdb")

from allennlp.common.checks import ConfigurationError

from elmo_plugin.adapters.layer_cache import open_cache
from elmo_plugin.engine import OptionsError


def test_none(tmp_path):
    assert open_cache(None, "carried", True) is None


@pytest.mark.parametrize("state", ["reset", "warm"])
def test_forms(tmp_path, state):
    folder = str(tmp_path / "cache")
    settings = {"folder": folder, "dtype": "float16", "max_gigabytes": 2}

    assert repr(open_cache(folder, state, False)) == f"LayerCache({folder!r}, dtype=None, max_gigabytes=16.0)"
    assert repr(open_cache(settings, state, False)) == f"LayerCache({folder!r}, dtype='float16', max_gigabytes=2)"
    assert settings == {"folder": folder, "dtype": "float16", "max_gigabytes": 2}


def test_carried_state_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match='"cache".* needs "state": "reset" or "warm", but it is \'carried\''):
        open_cache(str(tmp_path / "cache"), "carried", False)


def test_fine_tuning_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match='"cache".* and "fine_tune" exclude each other'):
        open_cache(str(tmp_path / "cache"), "reset", True)


@pytest.mark.parametrize(
    "cache", [{"dtype": "float16"}, {"folder": "a", "size": 3}, {"folder": None}, 3 * [1]], ids=str
)
def test_what_it_is_not(cache):
    with pytest.raises(
        ConfigurationError, match=r"expected a folder, or an object with \"folder\" and any of \['dtype'"
    ):
        open_cache(cache if isinstance(cache, dict) else {"folder": cache}, "reset", False)


def test_values_are_checked(tmp_path):
    with pytest.raises(OptionsError, match="dtype of the layer cache is 'int4'"):
        open_cache({"folder": str(tmp_path), "dtype": "int4"}, "reset", False)
