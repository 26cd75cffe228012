from types import SimpleNamespace

import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.common.checks import ConfigurationError  # noqa: E402

from elmo_plugin.callbacks.elmo_export import ElmoExport  # noqa: E402
from elmo_plugin.formats import read_pair, read_weights  # noqa: E402
from tests import tiny  # noqa: E402


@pytest.fixture
def trainer(tmp_path):
    """A trained model, as far as the callback sees it."""
    found = read_pair(*tiny.write(tmp_path / "bilm"))
    return SimpleNamespace(model=SimpleNamespace(weight_set=lambda source: found))


def test_writes_when_the_training_has_ended(trainer, tmp_path):
    (tmp_path / "config.json").write_text('{"trainer": {"num_epochs": 7}}')
    export = ElmoExport(str(tmp_path), folder="out")
    export.on_start(trainer)
    export.on_end(trainer, metrics={"best_validation_perplexity": 12.5})

    assert read_weights(tmp_path / "out").tensors.keys() == read_weights(tmp_path / "bilm").tensors.keys()
    card = (tmp_path / "out" / "README.md").read_text()
    assert "| perplexity | 12.5000 |" in card and '"num_epochs": 7' in card


def test_writes_nothing_where_it_broke_off_or_another_process_writes(trainer, tmp_path):
    export = ElmoExport(str(tmp_path), folder="out")
    export.on_end(trainer)
    export.on_end(trainer, metrics={}, is_primary=False)

    assert not (tmp_path / "out").exists()


def test_other_models_are_refused_before_the_training(tmp_path):
    with pytest.raises(ConfigurationError, match="the model is Linear, expected 'elmo_language_model'"):
        ElmoExport(str(tmp_path)).on_start(SimpleNamespace(model=torch.nn.Linear(1, 1)))
