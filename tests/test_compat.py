"""Each patch of `elmo_plugin.compat`: the fault without it, the cure with it. In the order of that module."""

import importlib
import io
import os
import sys
import warnings
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, List

import nltk
import numpy
import pytest
import torch

pytest.importorskip("allennlp")
transformers = pytest.importorskip("transformers")

from allennlp.common import Params, cached_transformers, util  # noqa: E402
from allennlp.data.data_loaders import MultiProcessDataLoader, multiprocess_data_loader  # noqa: E402
from allennlp.data.tokenizers import PretrainedTransformerTokenizer  # noqa: E402
from allennlp.training.learning_rate_schedulers import LearningRateScheduler  # noqa: E402
from allennlp.training.learning_rate_schedulers.pytorch_lr_schedulers import (  # noqa: E402
    ReduceOnPlateauLearningRateScheduler,
)
from allennlp.training.moving_average import ExponentialMovingAverage, MovingAverage  # noqa: E402
from allennlp.training.optimizers import SgdOptimizer  # noqa: E402
from allennlp_models.common.ontonotes import Ontonotes  # noqa: E402
from allennlp_models.tagging import Conll2003DatasetReader  # noqa: E402

from elmo_plugin import compat  # noqa: E402


def since(package: str, version: str, *minimum: int) -> pytest.MarkDecorator:
    reason = f"occurs from {package} {'.'.join(map(str, minimum))} on"
    return pytest.mark.skipif(compat._version(version) < minimum, reason=reason)


@pytest.mark.parametrize("text", ["3.9b1", "3.9", "3.9.2+cu130", "3.9.0.dev0"])
def test_versions_of_any_form_are_compared(text: str) -> None:
    assert compat._version(text) == (3, 9)


def test_applying_again_changes_nothing() -> None:
    compat.apply()
    before = (util.spacy_download, multiprocess_data_loader.mp, ReduceOnPlateauLearningRateScheduler.__init__)

    compat.apply()

    assert before == (util.spacy_download, multiprocess_data_loader.mp, ReduceOnPlateauLearningRateScheduler.__init__)


# What AllenNLP's trainer and py-rouge do, in modules of those names.
NOISE = {
    "allennlp.training.gradient_descent_trainer": "torch.cuda.amp.autocast(False)",
    "rouge.rouge": "warnings.warn('pkg_resources is deprecated as an API. See https://...')",
}


@contextmanager
def caught_warnings(*patches: str) -> Iterator[list]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        for patch in patches:
            getattr(compat, patch)()
        yield caught


@pytest.mark.parametrize("module", NOISE)
@since("torch", torch.__version__, 2, 4)
def test_warnings_that_a_user_cannot_act_on_are_silent(module: str) -> None:
    with caught_warnings() as noisy:
        exec(NOISE[module], {"__name__": module, "torch": torch, "warnings": warnings})
    with caught_warnings("quiet_warnings") as quiet:
        exec(NOISE[module], {"__name__": module, "torch": torch, "warnings": warnings})

    assert len(noisy) == 1
    assert quiet == []


def test_the_same_warning_from_elsewhere_is_heard() -> None:
    with caught_warnings("quiet_warnings") as caught:
        exec(NOISE["rouge.rouge"], {"__name__": "mine", "warnings": warnings})

    assert len(caught) == 1


@pytest.fixture
def downloads(monkeypatch: pytest.MonkeyPatch) -> List[str]:
    """What NLTK was asked to fetch, with `skip_nltk_download` applied as where allennlp_models is not loaded yet."""
    asked: List[str] = []
    monkeypatch.setattr(nltk, "download", asked.append)
    monkeypatch.delitem(sys.modules, compat.NARRATIVE_QA, raising=False)
    compat.skip_nltk_download()
    return asked


@since("nltk", nltk.__version__, 3, 9)
def test_importing_allennlp_models_fetches_nothing(downloads: List[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nltk.data, "path", [])  # whatever this machine has

    importlib.import_module(compat.NARRATIVE_QA)
    assert downloads == []

    monkeypatch.delitem(sys.modules, compat.NARRATIVE_QA)
    monkeypatch.setattr(nltk, "download", downloads.append)
    importlib.import_module(compat.NARRATIVE_QA)
    assert downloads == ["punkt", "wordnet"]


def test_anyone_else_may_fetch_nltk_data(downloads: List[str]) -> None:
    nltk.download("punkt_tab")

    assert downloads == ["punkt_tab"]


def training_state(value: object) -> io.BytesIO:
    file = io.BytesIO()
    torch.save({"metric_tracker": {"best_epoch_metrics": {"f1": value}}}, file)
    file.seek(0)
    return file


@pytest.fixture
def no_safe_globals() -> Iterator[None]:
    before = torch.serialization.get_safe_globals()
    torch.serialization.clear_safe_globals()
    yield
    torch.serialization.clear_safe_globals()
    torch.serialization.add_safe_globals(before)


@since("torch", torch.__version__, 2, 6)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "uint8", "bool"])
def test_training_state_with_numpy_scalars_loads(dtype: str, no_safe_globals: None) -> None:
    value = numpy.dtype(dtype).type(1)
    with pytest.raises(Exception, match="Weights only load failed"):
        torch.load(training_state(value))

    compat.allow_numpy_scalars()
    loaded = torch.load(training_state(value))["metric_tracker"]["best_epoch_metrics"]["f1"]

    assert loaded == value
    assert loaded.dtype == value.dtype


def renamed(archive: bytes, old: bytes, new: bytes) -> io.BytesIO:
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as source, zipfile.ZipFile(target, "w") as output:
        for item in source.infolist():
            output.writestr(item.filename, source.read(item).replace(old, new))
    target.seek(0)
    return target


@since("torch", torch.__version__, 2, 6)
def test_training_state_of_the_other_numpy_loads() -> None:
    compat.apply()
    written = training_state(numpy.float64(0.5)).getvalue()
    here, there = b"numpy._core.multiarray", b"numpy.core.multiarray"
    if here not in written:
        here, there = there, here

    assert torch.load(renamed(written, here, there))["metric_tracker"]["best_epoch_metrics"]["f1"] == 0.5


@since("torch", torch.__version__, 2, 6)
def test_training_state_still_runs_no_code() -> None:
    compat.apply()

    with pytest.raises(Exception, match="Weights only load failed"):
        torch.load(training_state(os.getcwd))


def averaged(value: float) -> ExponentialMovingAverage:
    return ExponentialMovingAverage([("w", torch.nn.Parameter(torch.tensor([value])))], decay=0.5)


def test_a_moving_average_that_was_saved_is_that_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    compat.apply()
    state = averaged(1.0).state_dict()

    average = averaged(5.0)
    ((_, weight),) = average._parameters
    average.load_state_dict(state)
    average.apply()  # half of what was saved, and half of what the model has
    average.assign_average_value()
    assert weight.item() == 3.0
    average.restore()
    assert weight.item() == 5.0

    monkeypatch.setattr(MovingAverage, "load_state_dict", MovingAverage.load_state_dict.__wrapped__)
    detached = averaged(5.0)
    ((_, weight),) = detached._parameters
    detached.load_state_dict(state)
    detached.apply()
    detached.assign_average_value()
    assert weight.item() == 5.0


def plateau(**parameters: object) -> LearningRateScheduler:
    optimizer = SgdOptimizer([("w", torch.nn.Parameter(torch.zeros(1)))], lr=1.0)
    return LearningRateScheduler.from_params(Params({"type": "reduce_on_plateau", **parameters}), optimizer=optimizer)


@since("torch", torch.__version__, 2, 7)
def test_reduce_on_plateau_builds_and_reduces(monkeypatch: pytest.MonkeyPatch) -> None:
    compat.apply()
    scheduler = plateau(factor=0.5, patience=0, mode="max", threshold=0.1)
    for metric in (0.5, 0.5, 0.5):
        scheduler.step(metric)
    assert scheduler.lr_scheduler.optimizer.param_groups[0]["lr"] == 0.25

    monkeypatch.setattr(
        ReduceOnPlateauLearningRateScheduler, "__init__", ReduceOnPlateauLearningRateScheduler.__init__.__wrapped__
    )
    with pytest.raises(TypeError, match="verbose"):
        plateau()


@since("torch", torch.__version__, 2, 7)
def test_reduce_on_plateau_says_that_verbose_is_gone(caplog: pytest.LogCaptureFixture) -> None:
    compat.apply()

    plateau(verbose=True)

    assert "has no verbose" in caplog.text


@pytest.mark.skipif(sys.version_info < (3, 11, 5), reason="occurs from Python 3.11.5 on")
def test_spawned_workers_load_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compat.apply()
    path = tmp_path / "conll"
    path.write_text("EU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\nPeter NNP B-NP B-PER\n")
    loader = MultiProcessDataLoader(
        Conll2003DatasetReader(),
        str(path),
        batch_size=1,
        num_workers=1,
        max_instances_in_memory=2,
        start_method="spawn",
    )

    words = [[token.text for token in instance["tokens"]] for instance in loader.iter_instances()]
    assert words == [["EU", "rejects"], ["Peter"]]

    monkeypatch.setattr(multiprocess_data_loader, "mp", torch.multiprocessing)
    with pytest.raises(RuntimeError, match="SemLock"):
        list(loader.iter_instances())


@pytest.fixture
def tiny_transformer(tmp_path: Path) -> str:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "1", "2", "the", "cat"]
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("\n".join(words))
    transformers.BertTokenizerFast(str(vocabulary)).save_pretrained(str(tmp_path))
    transformers.BertConfig(vocab_size=len(words)).save_pretrained(str(tmp_path))
    return str(tmp_path)


def test_transformer_tokenizer_builds(tiny_transformer: str) -> None:
    compat.apply()

    tokens = PretrainedTransformerTokenizer(tiny_transformer).tokenize("the cat")
    bare = PretrainedTransformerTokenizer(tiny_transformer, add_special_tokens=False).tokenize("the cat")

    assert [token.text for token in tokens] == ["[CLS]", "the", "cat", "[SEP]"]
    assert [token.text for token in bare] == ["the", "cat"]


@since("transformers", transformers.__version__, 4, 44)
def test_transformer_tokenizer_did_not_build(tiny_transformer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compat.apply()
    monkeypatch.setattr(cached_transformers, "get_tokenizer", cached_transformers.get_tokenizer.__wrapped__)

    with pytest.raises(AttributeError, match="add_special_tokens"):
        PretrainedTransformerTokenizer(tiny_transformer)


def test_missing_spacy_model_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(model: str) -> None:
        raise ConnectionError("Max retries exceeded")

    monkeypatch.setattr(util, "spacy_download", unreachable)
    with pytest.raises(ConnectionError, match="^Max retries"):
        util.get_spacy_model("xx_no_such_model")

    compat.explain_missing_spacy_model()
    with pytest.raises(OSError, match="'xx_no_such_model'.*just_spaces.*blank:en"):
        util.get_spacy_model("xx_no_such_model")


def test_the_advice_on_spacy_works() -> None:
    from allennlp.data.tokenizers import Tokenizer

    advice = {"type": "spacy", "language": "blank:en", "pos_tags": False}
    tokens = Tokenizer.from_params(Params(advice)).tokenize("Don't panic.")

    assert [token.text for token in tokens] == ["Do", "n't", "panic", "."]


@pytest.mark.parametrize("from_last", [False, True])
def test_ontonotes_files_are_read_in_the_order_of_their_paths(
    from_last: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the order in which the file system lists them."""
    paths = [tmp_path / name for name in ("a.gold_conll", "a/b.gold_conll", "a/c.gold_conll", "b/a.gold_conll")]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    walk = os.walk

    def listing(top: str) -> Iterator[tuple]:
        for root, folders, files in sorted(walk(top), reverse=from_last):
            yield root, folders, sorted(files, reverse=from_last)

    monkeypatch.setattr("os.walk", listing)
    compat.sort_ontonotes_files()
    ontonotes = Ontonotes()

    assert list(ontonotes.dataset_path_iterator(str(tmp_path))) == sorted(map(str, paths))
    unsorted = list(Ontonotes.dataset_path_iterator.__wrapped__(str(tmp_path)))  # type: ignore[attr-defined]
    assert (unsorted == sorted(map(str, paths))) is not from_last
