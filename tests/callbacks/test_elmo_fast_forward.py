from types import SimpleNamespace

import pytest

pytest.importorskip("allennlp")

from allennlp.common.checks import ConfigurationError  # noqa: E402

from elmo_plugin.callbacks.elmo_fast_forward import ElmoFastForward  # noqa: E402
from elmo_plugin.data_loaders.elmo_corpus import ElmoCorpusLoader  # noqa: E402
from elmo_plugin.dataset_readers.elmo_corpus import ElmoCorpusReader  # noqa: E402
from elmo_plugin.vocabularies.elmo_corpus import ElmoCorpusVocabulary  # noqa: E402


def test_skips_what_the_trainer_throws_away(tmp_path):
    """One epoch of three batches and one batch of the next epoch have been seen."""
    (tmp_path / "text").write_text("a b\n" * 30)
    loader = ElmoCorpusLoader(ElmoCorpusReader(), str(tmp_path), batch_size=2, unroll_steps=3, batches_per_epoch=3)
    loader.index_with(ElmoCorpusVocabulary.from_corpus(corpus=str(tmp_path)))
    trainer = SimpleNamespace(
        data_loader=loader,
        _epochs_completed=0,
        _batches_in_epoch_completed=0,
        _start_after_epochs_completed=1,
        _start_after_batches_in_epoch_completed=1,
    )
    ElmoFastForward("folder").on_start(trainer)
    skipped = []
    for _ in range(2):
        for batch in loader:
            skipped.append(batch == {})
            trainer._batches_in_epoch_completed += 1
        trainer._epochs_completed, trainer._batches_in_epoch_completed = trainer._epochs_completed + 1, 0

    assert skipped == [True, True, True, True, False, False]


def test_whole_epochs_are_not_read_again(tmp_path):
    (tmp_path / "text").write_text("a b\n" * 4)
    loader = ElmoCorpusLoader(ElmoCorpusReader(), str(tmp_path), batch_size=2, unroll_steps=3)
    loader.index_with(ElmoCorpusVocabulary.from_corpus(corpus=str(tmp_path)))
    expected = len(loader)
    (tmp_path / "text").unlink()
    trainer = SimpleNamespace(
        data_loader=loader,
        _epochs_completed=0,
        _batches_in_epoch_completed=0,
        _start_after_epochs_completed=1,
        _start_after_batches_in_epoch_completed=0,
    )
    ElmoFastForward("folder").on_start(trainer)

    assert list(loader) == [{}] * expected


def resumed(folder, state):
    """What a training that goes on does with the text in a folder."""
    loader = ElmoCorpusLoader(ElmoCorpusReader(), str(folder), batch_size=2, unroll_steps=3)
    trainer = SimpleNamespace(data_loader=loader, _start_after_epochs_completed=0)
    callback = ElmoFastForward("folder")
    callback.load_state_dict(state)
    callback.on_start(trainer)
    return callback.state_dict()


@pytest.mark.parametrize(
    "change,message",
    [
        (lambda folder: (folder / "1").write_text("a b\nc\n"), "1 of 6 bytes is where 1 of 4 bytes was"),
        (lambda folder: (folder / "0").rename(folder / "2"), "1 of 4 bytes is where 0 of 4 bytes was"),
        (lambda folder: (folder / "2").write_text("a b\n"), "it has 3 files, and had 2"),
    ],
)
def test_another_text_is_refused(tmp_path, change, message):
    for name in ("0", "1"):
        (tmp_path / name).write_text("a b\n")
    state = resumed(tmp_path, {})
    assert resumed(tmp_path, state) == state
    change(tmp_path)

    with pytest.raises(ConfigurationError, match=message):
        resumed(tmp_path, state)


def test_other_data_loaders_are_left_alone():
    ElmoFastForward("folder").on_start(SimpleNamespace(data_loader=[]))
