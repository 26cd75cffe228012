"""The engine on AllenNLP's parameters; its numbers are compared in tests/test_drop_in.py."""

import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.modules.elmo import _ElmoBiLm

from elmo_plugin.adapters.stock_engine import StockEngine, options_of
from elmo_plugin.engine import BiLmOptions, OptionsError, batch_to_ids
from tests import tiny


@pytest.fixture
def stock(tmp_path):
    return _ElmoBiLm(*tiny.write(tmp_path / "bilm"))


def test_options_are_those_of_the_file_without_keys_that_allennlp_does_not_read(stock):
    stock._token_embedder._options["n_train_batches"] = 5

    assert options_of(stock) == BiLmOptions.from_dict(tiny.options())


def test_options_that_the_engine_does_not_know_are_refused(stock):
    stock._token_embedder._options["char_cnn"]["activation"] = "selu"

    with pytest.raises(OptionsError, match="selu"):
        StockEngine(stock)


def test_it_has_no_weights_of_its_own_and_keeps_nothing_between_calls(stock):
    torch.manual_seed(0)
    engine = StockEngine(stock)
    drawn = torch.rand(1)
    torch.manual_seed(0)
    assert torch.equal(drawn, torch.rand(1))  # building it does not move the task's random numbers

    output = engine.run(stock, batch_to_ids(tiny.SENTENCES))

    assert output.layers.shape == (3, 5, 9, 12)
    assert sum(p.numel() for p in engine.bilm.parameters()) == 0
    assert engine.bilm.carried is None
    assert [state.shape for state in stock._elmo_lstm._states] == [(2, 5, 12), (2, 5, 24)]
    assert torch.equal(stock._elmo_lstm._states[0][:, 1], engine_states(engine, stock)[0][:, 1])


def engine_states(engine, stock):
    stock._elmo_lstm._states = None
    engine.run(stock, batch_to_ids(tiny.SENTENCES))
    return stock._elmo_lstm._states


def test_frozen_weights_are_converted_once(stock):
    engine = StockEngine(stock)
    ids = batch_to_ids(tiny.SENTENCES)
    engine.run(stock, ids)
    first = engine._frozen._held.value
    engine.run(stock, ids)
    assert engine._frozen._held.value is first

    with torch.no_grad():
        next(stock.parameters()).mul_(2)
    engine.run(stock, ids)
    assert engine._frozen._held.value is not first


def test_what_is_written_through_data_is_seen(stock):
    engine, fresh = StockEngine(stock), StockEngine(stock)
    ids = batch_to_ids(tiny.SENTENCES)
    engine.run(stock, ids)
    for parameter in stock.parameters():
        parameter.data.mul_(0.5)  # shows in no counter of PyTorch's

    stock._elmo_lstm._states = None
    actual = engine.run(stock, ids).layers
    stock._elmo_lstm._states = None
    assert torch.equal(actual, fresh.run(stock, ids).layers)


def test_module_that_was_built_in_inference_mode_runs(tmp_path):
    files = tiny.write(tmp_path)
    with torch.inference_mode():
        stock = _ElmoBiLm(*files)
        assert StockEngine(stock).run(stock, batch_to_ids(tiny.SENTENCES)).layers.shape == (3, 5, 9, 12)
