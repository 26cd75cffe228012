from types import SimpleNamespace

import pytest

pytest.importorskip("allennlp")

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


def test_other_data_loaders_are_left_alone():
    ElmoFastForward("folder").on_start(SimpleNamespace(data_loader=[]))
