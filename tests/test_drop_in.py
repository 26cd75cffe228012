"""AllenNLP's own ELMo on the engine: same numbers, same names, archives in both directions."""

import copy
import importlib
import inspect
import logging
import os
import pickle
import subprocess
import sys
from argparse import Namespace
from contextlib import contextmanager
from pathlib import Path

import h5py
import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.common import Params
from allennlp.common.util import import_module_and_submodules
from allennlp.data.token_indexers import ELMoTokenCharactersIndexer, TokenIndexer
from allennlp.models.archival import load_archive
from allennlp.modules import elmo as stock
from allennlp.modules.token_embedders import ElmoTokenEmbedder, TokenEmbedder

from elmo_plugin import drop_in
from elmo_plugin.adapters.stock_engine import StockEngine
from elmo_plugin.formats import read_pair
from elmo_plugin.formats.archive import read
from elmo_plugin.token_indexers.elmo import ElmoIndexer
from tests import classifying, tagging, tiny

# The other tests compare with AllenNLP's own code.
drop_in.uninstall()

TOLERANCE = 5e-6


@contextmanager
def installed():
    drop_in.install()
    try:
        yield
    finally:
        drop_in.uninstall()


@pytest.fixture
def files(tmp_path):
    return tiny.write(tmp_path / "bilm")


@pytest.fixture
def ids():
    return stock.batch_to_ids(tiny.SENTENCES)


@pytest.fixture
def runs(monkeypatch):
    """Counts the calls of the engine, so that no test can pass on AllenNLP's code by mistake."""
    calls = []
    run = StockEngine.run
    monkeypatch.setattr(StockEngine, "run", lambda self, *inputs: calls.append(1) or run(self, *inputs))
    return calls


def close(actual, expected, atol=TOLERANCE):
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


def pair(files, *arguments, **parameters):
    """The same module twice, one to run on AllenNLP's code and one on the engine."""
    module = stock.Elmo(*files, *arguments, **parameters)
    return module, copy.deepcopy(module)


# Numbers


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"requires_grad": True},
        {"do_layer_norm": True},
        {"keep_sentence_boundaries": True},
        {"scalar_mix_parameters": [1.0, 2.0, -3.0]},
        {"dropout": 0.0},
    ],
    ids=str,
)
def test_module_gives_the_same_numbers_batch_after_batch(files, ids, runs, parameters):
    theirs, ours = pair(files, 2, **parameters)
    for size in (3, 5, 2, 5):  # state of larger and smaller batches is carried
        torch.manual_seed(0)
        expected = theirs(ids[:size])
        torch.manual_seed(0)
        with installed():
            actual = ours(ids[:size])

        assert torch.equal(actual["mask"], expected["mask"])
        close(actual["elmo_representations"], expected["elmo_representations"])
        assert [r.requires_grad for r in actual["elmo_representations"]] == [
            r.requires_grad for r in expected["elmo_representations"]
        ]
    assert len(runs) == 4


def test_gradients_are_the_same(files, ids, runs):
    theirs, ours = pair(files, 2, requires_grad=True, dropout=0.0)
    for module, context in ((theirs, None), (ours, installed())):
        with context or torch.enable_grad():
            for _ in range(2):
                sum(r.pow(2).sum() for r in module(ids)["elmo_representations"]).backward()

    assert len(runs) == 2
    for (name, p), q in zip(theirs.named_parameters(), ours.parameters()):
        assert p.grad.abs().sum() > 0, name
        torch.testing.assert_close(q.grad, p.grad, rtol=1e-4, atol=1e-4 * p.grad.abs().max().item(), msg=name)


def test_double_precision_agrees_to_the_last_digits(files, ids, runs):
    theirs, ours = (module.double() for module in pair(files, 1, dropout=0.0))
    with installed():
        actual = ours(ids)["elmo_representations"]

    close(actual, theirs(ids)["elmo_representations"], atol=1e-12)


def test_further_dimensions_come_back(files, ids, runs):
    theirs, ours = pair(files, 1, dropout=0.0)
    nested = ids[:4].view(2, 2, 7, 50)
    with installed():
        actual = ours(nested)

    expected = theirs(nested)
    close(actual["elmo_representations"], expected["elmo_representations"])
    assert torch.equal(actual["mask"], expected["mask"])


def test_weights_that_change_are_seen(files, ids, runs):
    theirs, ours = pair(files, 1, dropout=0.0)
    with installed():
        ours(ids)
    ours._elmo_lstm._elmo_lstm.reset_states()
    changed = {name: tensor * 0.9 for name, tensor in theirs.state_dict().items()}
    theirs.load_state_dict(changed), ours.load_state_dict(changed)
    with installed():
        actual = ours(ids)["elmo_representations"]

    close(actual, theirs(ids)["elmo_representations"])


def test_thawing_by_hand_trains_as_before(files, ids, runs):
    _, ours = pair(files, 1)
    ours.requires_grad_(True)
    with installed():
        ours(ids)["elmo_representations"][0].sum().backward()

    assert all(p.grad is not None for p in ours.parameters())


@pytest.mark.parametrize("kind", ["tagger", "bcn"])
@pytest.mark.parametrize("requires_grad", [False, True], ids=["frozen", "tuned"])
def test_loss_curve_of_two_epochs(files, tmp_path, runs, kind, requires_grad):
    parameters = {"options_file": files[0], "weight_file": files[1], "requires_grad": requires_grad}
    if kind == "tagger":
        embedder = {"type": "elmo_token_embedder", "projection_dim": 10, "do_layer_norm": True, **parameters}
        configuration = tagging.config(tmp_path, embedder, {"type": "elmo_characters"}, width=10)
    else:
        model = classifying.bcn({"num_output_representations": 2, **parameters})
        indexers = {"tokens": "single_id", "elmo": "elmo_characters"}
        configuration = classifying.config(tmp_path, model, indexers)

    tagging.train(configuration, tmp_path / "stock")
    assert runs == []
    with installed():
        tagging.train(configuration, tmp_path / "drop_in")
    assert len(runs) == 8

    expected = tagging.losses(tmp_path / "stock")
    assert len(expected) == 4 and len(set(expected)) == 4
    assert tagging.losses(tmp_path / "drop_in") == pytest.approx(expected, abs=1e-5)


# Names and archives


def test_names_of_parameters_and_state_are_the_same(files, ids):
    module = stock.Elmo(*files, 2, requires_grad=True)
    names, keys = [name for name, _ in module.named_parameters()], list(module.state_dict())
    with installed():
        ours = stock.Elmo(*files, 2, requires_grad=True)
        ours(ids)

        assert [name for name, _ in ours.named_parameters()] == names
        assert list(ours.state_dict()) == keys
        assert "scalar_mix_0.scalar_parameters.0" in keys


def test_archives_move_both_ways(files, tmp_path, ids, runs):
    options_file, weight_file = files
    embedder = {
        "type": "elmo_token_embedder",
        "options_file": options_file,
        "weight_file": weight_file,
        "requires_grad": True,
    }
    configuration = tagging.config(tmp_path, embedder, {"type": "elmo_characters"})
    tagging.train(configuration, tmp_path / "stock")
    with installed():
        tagging.train(configuration, tmp_path / "drop_in")

    for trained_by in ("stock", "drop_in"):
        path = tmp_path / trained_by / "model.tar.gz"
        theirs = load_archive(path).model.eval().text_field_embedder.token_embedder_elmo
        expected = theirs(ids)
        runs.clear()
        with installed():
            ours = load_archive(path).model.eval().text_field_embedder.token_embedder_elmo
            close(ours(ids), expected)
        assert len(runs) == 1


def test_archive_loads_without_the_weight_files(files, tmp_path, ids, runs):
    options_file, weight_file = files
    parameters = {"options_file": options_file, "weight_file": weight_file}
    with installed():
        configuration = tagging.config(
            tmp_path, {"type": "elmo_token_embedder", **parameters}, {"type": "elmo_characters"}
        )
        tagger = tagging.train(configuration, tmp_path / "tagger").eval()
        model = classifying.bcn({"num_output_representations": 2, **parameters})
        bcn = tagging.train(classifying.config(tmp_path, model), tmp_path / "bcn").eval()
        (tmp_path / "bilm").rename(tmp_path / "moved")

        for source in (tmp_path / "tagger" / "model.tar.gz", tmp_path / "tagger"):
            loaded = load_archive(source).model.eval().text_field_embedder.token_embedder_elmo
            trained = tagger.text_field_embedder.token_embedder_elmo
            trained.reset_states()
            assert torch.equal(loaded(ids), trained(ids))
        loaded = load_archive(tmp_path / "bcn" / "model.tar.gz").model.eval()._elmo
        bcn._elmo.reset_states()
        assert torch.equal(loaded(ids)["elmo_representations"][1], bcn._elmo(ids)["elmo_representations"][1])

        # saved again, it is still complete
        state = loaded.state_dict()
        assert list(state._metadata["_elmo_lstm"])[-1] == "elmo_plugin.bilm"


def test_missing_files_are_an_error_in_training(files, tmp_path):
    with installed():
        configuration = tagging.config(
            tmp_path, {"type": "elmo_token_embedder", "options_file": files[0], "weight_file": str(tmp_path / "no")}
        )
        with pytest.raises(FileNotFoundError, match="no"):
            tagging.train(configuration, tmp_path / "run")


def test_bilm_of_an_archive_can_be_exported(files, tmp_path):
    with installed():
        configuration = tagging.config(
            tmp_path, {"type": "elmo_token_embedder", "options_file": files[0], "weight_file": files[1]}
        )
        tagging.train(configuration, tmp_path / "run")

    weights, original = read(tmp_path / "run" / "model.tar.gz"), read_pair(*files)
    assert weights.options == original.options
    assert all(torch.equal(tensor, original.tensors[name]) for name, tensor in weights.tensors.items())
    assert len(weights.tensors) > 20


# AllenNLP's other doors


def test_state_can_be_reset_in_public_and_through_the_old_private_door(files, ids, runs):
    with installed():
        module = ElmoTokenEmbedder(*files, dropout=0.0)
        first = module(ids)
        assert not torch.equal(module(ids), first)
        module.reset_states()
        assert torch.equal(module(ids), first)
        module._elmo.reset_states()
        assert torch.equal(module(ids), first)
        module._elmo._elmo_lstm._elmo_lstm.reset_states()
        assert torch.equal(module(ids), first)

        module.reset_states()
        module._elmo._elmo_lstm._elmo_lstm.stateful = False
        assert torch.equal(module(ids), first)
        assert torch.equal(module(ids), first)


def test_part_of_the_rows_is_reset(files, ids, runs):
    theirs, ours = pair(files, 1, dropout=0.0)
    mask = torch.tensor([True, False, False, True, False])
    theirs(ids)
    theirs._elmo_lstm._elmo_lstm.reset_states(mask)
    with installed():
        ours(ids)
        ours._elmo_lstm._elmo_lstm.reset_states(mask)
        close(ours(ids)["elmo_representations"], theirs(ids)["elmo_representations"])


def test_all_empty_batch_and_no_tokens(files, runs):
    with installed():
        module = ElmoTokenEmbedder(*files)
        assert module(stock.batch_to_ids([[], ["a"]])).shape == (2, 1, 12)


def test_module_that_was_built_and_pickled_before(files, ids, runs):
    theirs, ours = pair(files, 1, dropout=0.0)
    with installed():
        ours(ids)
        ours = pickle.loads(pickle.dumps(ours))
        theirs(ids)
        assert len(runs) == 2
        close(ours(ids)["elmo_representations"], theirs(ids)["elmo_representations"])


def test_words_to_cache_are_accepted_and_exact(files, ids, runs):
    words = ["@@PAD@@", "The", "cat", "sat", "on", "the", "mat", ".", "Yes"]
    numbers = torch.tensor([[1, 2, 3, 4, 5, 6, 7], [8, 0, 0, 0, 0, 0, 0]])
    module = ElmoTokenEmbedder(*files, vocab_to_cache=words, dropout=0.0)
    expected = module(ids[:2], numbers)
    module._elmo._elmo_lstm._elmo_lstm.reset_states()
    with installed():
        keys = list(ElmoTokenEmbedder(*files, vocab_to_cache=words).state_dict())
        assert keys == list(module.state_dict())

        close(module(ids[:2], numbers), expected)
        assert len(runs) == 1
        # Unknown words get their own vectors, not those of whatever stands at their number.
        module.reset_states()
        close(module(ids[:2], torch.full_like(numbers, 2)), expected)
        # Without characters the table is all there is.
        module.reset_states()
        close(module(torch.zeros(2, 7), numbers), expected)
        assert len(runs) == 2


def test_module_of_the_users_own(runs):
    class Own(torch.nn.Module):
        num_layers = 2

        def get_output_dim(self):
            return 3

        def forward(self, inputs, word_inputs):
            mask = torch.ones(1, 4, dtype=torch.bool)
            return {"activations": [torch.ones(1, 4, 3), 3 * torch.ones(1, 4, 3)], "mask": mask}

    with installed():
        module = stock.Elmo(None, None, 1, module=Own(), dropout=0.0)
        assert (module(torch.zeros(1, 2, 50))["elmo_representations"][0] == 2).all()
        module.reset_states()
    assert runs == []


def test_model_that_the_engine_does_not_take_stays_with_allennlp(tmp_path, ids, runs, caplog):
    files = tiny.write(tmp_path / "bilm", filters=((1, 2), (2, 4)))
    with h5py.File(files[1], "a") as target:  # bilm-tf writes no projection from 6 to 6
        target["CNN_proj/W_proj"], target["CNN_proj/b_proj"] = torch.eye(6) * 2, torch.zeros(6)
    theirs, ours = pair(files, 1, dropout=0.0)
    with installed(), caplog.at_level(logging.WARNING):
        actual = ours(ids)["elmo_representations"]

    close(actual, theirs(ids)["elmo_representations"])
    assert runs == []
    assert "stays on AllenNLP's own code" in caplog.text


def test_parameters_are_allennlps_and_one_that_allennlp_passes(files):
    expected = {cls: list(inspect.signature(cls.__init__).parameters) for cls in (stock.Elmo, ElmoTokenEmbedder)}
    with installed():
        for cls, names in expected.items():
            assert list(inspect.signature(cls.__init__).parameters) == names + ["serialization_dir"]
        parameters = {"options_file": files[0], "weight_file": files[1]}
        embedder = TokenEmbedder.from_params(Params({"type": "elmo_token_embedder", **parameters}))
        assert isinstance(embedder, ElmoTokenEmbedder)
        with pytest.raises(Exception, match="Extra parameters"):
            TokenEmbedder.from_params(Params({"type": "elmo_token_embedder", "layers": "all", **parameters}))


def test_words_become_ids_by_the_fast_functions():
    loaded_before = importlib.import_module("allennlp_models.lm.modules")  # any module that may bind the name
    loaded_before.batch_to_ids = stock.batch_to_ids
    expected = stock.batch_to_ids(tiny.SENTENCES)
    try:
        with installed():
            from allennlp.modules.elmo import batch_to_ids

            assert batch_to_ids is loaded_before.batch_to_ids is drop_in.batch_to_ids
            assert torch.equal(batch_to_ids(tiny.SENTENCES), expected)
            assert batch_to_ids([[]]).shape == (1, 0, 50)
            assert isinstance(TokenIndexer.from_params(Params({"type": "elmo_characters"})), ElmoIndexer)
        assert loaded_before.batch_to_ids is stock.batch_to_ids is not drop_in.batch_to_ids
    finally:
        del loaded_before.batch_to_ids
    assert TokenIndexer.by_name("elmo_characters") is ELMoTokenCharactersIndexer


# Switching


def test_modules_that_must_not_be_imported_are_passed_over(monkeypatch):
    monkeypatch.setitem(sys.modules, "blocked", None)

    drop_in.install()
    drop_in.uninstall()


def test_installing_twice_is_installing_once(files, ids):
    before = (stock._ElmoBiLm.forward, stock.Elmo.__init__, ElmoTokenEmbedder.__init__)
    drop_in.install()
    drop_in.install()
    drop_in.uninstall()

    assert (stock._ElmoBiLm.forward, stock.Elmo.__init__, ElmoTokenEmbedder.__init__) == before
    assert not hasattr(stock.Elmo, "reset_states")
    drop_in.uninstall()


def test_including_the_package_does_not_switch_it_on(monkeypatch):
    monkeypatch.delitem(sys.modules, "elmo_plugin.drop_in")
    before = stock._ElmoBiLm.forward

    import_module_and_submodules("elmo_plugin")
    assert "elmo_plugin.drop_in" in sys.modules
    assert stock._ElmoBiLm.forward is before

    monkeypatch.delitem(sys.modules, "elmo_plugin.drop_in")
    import_module_and_submodules("elmo_plugin.drop_in")
    assert stock._ElmoBiLm.forward is not before
    sys.modules["elmo_plugin.drop_in"].uninstall()
    assert stock._ElmoBiLm.forward is before


def include_as_the_program(packages):
    args = Namespace(include_package=packages)
    for package_name in args.include_package:
        import_module_and_submodules(package_name)


def include_as_a_process_of_a_distributed_training(packages):
    include_package = packages
    for package_name in include_package:
        import_module_and_submodules(package_name)


@pytest.mark.parametrize("include", [include_as_the_program, include_as_a_process_of_a_distributed_training])
def test_named_behind_the_whole_package_it_is_switched_on(include, monkeypatch):
    before = stock._ElmoBiLm.forward
    for packages, is_on in ((["elmo_plugin"], False), (["elmo_plugin", "elmo_plugin.drop_in"], True)):
        monkeypatch.delitem(sys.modules, "elmo_plugin.drop_in")
        include(packages)
        assert (stock._ElmoBiLm.forward is not before) == is_on

    sys.modules["elmo_plugin.drop_in"].uninstall()
    assert stock._ElmoBiLm.forward is before


def test_one_line_in_the_plugins_file_switches_it_on(files, tmp_path):
    (tmp_path / ".allennlp_plugins").write_text("elmo_plugin\nelmo_plugin.drop_in\n")
    configuration = tagging.config(
        tmp_path,
        {"type": "elmo_token_embedder", "options_file": files[0], "weight_file": files[1]},
        {"type": "elmo_characters"},
        epochs=1,
    )
    Params(configuration).to_file(str(tmp_path / "config.json"))

    command = [sys.executable, "-m", "allennlp", "train", "config.json", "-s", "run"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)

    assert run.returncode == 0, run.stderr[-3000:]
    assert read(tmp_path / "run").options.lstm.dim == 12  # only the drop-in writes the options
