"""A training that goes on ends as one that was not killed."""

import json

import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.commands.train import train_model  # noqa: E402
from allennlp.common import Params  # noqa: E402

from elmo_plugin.adapters.durations import seconds_of  # noqa: E402

SENTENCES = "The###D cat###N sat###V\nA###D dog###N ran###V\n"


def configuration(folder, callbacks, **trainer):
    """Five epochs of a small tagger at a learning rate of 0: the first epoch stays the best one."""
    (folder / "text").write_text(SENTENCES)
    return Params(
        {
            "dataset_reader": {"type": "sequence_tagging"},
            "train_data_path": str(folder / "text"),
            "validation_data_path": str(folder / "text"),
            "test_data_path": str(folder / "text"),
            "evaluate_on_test": True,
            "model": {
                "type": "simple_tagger",
                "text_field_embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 3}}},
                "encoder": {"type": "lstm", "input_size": 3, "hidden_size": 2},
            },
            "data_loader": {"batch_size": 2},
            "trainer": {
                "optimizer": {"type": "sgd", "lr": 0.0},
                "num_epochs": 5,
                "validation_metric": "+accuracy",
                "checkpointer": {"type": "elmo"},
                "callbacks": callbacks,
                **trainer,
            },
        }
    )


def killed_behind_the_last_epoch(folder):
    """While the model was evaluated on the test set."""
    (folder / "metrics.json").unlink()
    (folder / "model.tar.gz").unlink()


@pytest.mark.parametrize("trainer,last", [({"patience": 2}, 2), ({}, 4)], ids=["patience", "all epochs"])
def test_no_further_epoch_is_trained_and_no_metric_is_lost(tmp_path, trainer, last):
    folder = tmp_path / "run"
    train_model(configuration(tmp_path, [{"type": "elmo_resume"}], **trainer), str(folder))
    whole = json.loads((folder / "metrics.json").read_text())
    assert (whole["epoch"], whole["best_epoch"]) == (last, 0)
    killed_behind_the_last_epoch(folder)

    train_model(configuration(tmp_path, [{"type": "elmo_resume"}], **trainer), str(folder), recover=True)

    again = json.loads((folder / "metrics.json").read_text())
    assert again == whole
    assert not (folder / f"metrics_epoch_{last + 1}.json").exists()
    assert (folder / "model.tar.gz").exists()


@pytest.mark.parametrize("epochs", [2, 5], ids=["between epochs", "behind the last one"])
def test_the_average_of_the_weights_goes_on_too(tmp_path, epochs):
    """Were it left behind, the epochs would be scored by weights that are not averaged."""
    averaged = {
        "moving_average": {"type": "exponential", "decay": 0.9},
        "optimizer": {"type": "sgd", "lr": 0.5},
        "validation_metric": "-loss",  # the last epoch is the best one
    }
    callbacks = [{"type": "elmo_resume"}]
    torch.manual_seed(0)
    train_model(configuration(tmp_path, callbacks, **averaged), str(tmp_path / "whole"))
    train_model(configuration(tmp_path, callbacks, num_epochs=epochs, **averaged), str(tmp_path / "cut"))
    killed_behind_the_last_epoch(tmp_path / "cut")
    configuration(tmp_path, callbacks, **averaged).to_file(str(tmp_path / "cut" / "config.json"))

    train_model(configuration(tmp_path, callbacks, **averaged), str(tmp_path / "cut"), recover=True)

    whole, cut = (json.loads((tmp_path / name / "metrics.json").read_text()) for name in ("whole", "cut"))
    assert whole["best_epoch"] == cut["best_epoch"] == 4
    losses = [name for name in whole if name.endswith("loss")]
    assert {"test_loss", "validation_loss", "best_validation_loss"} <= set(losses)
    assert {name: cut[name] for name in losses} == pytest.approx({name: whole[name] for name in losses})
    best = [torch.load(tmp_path / name / "best.th") for name in ("whole", "cut")]
    torch.testing.assert_close(best[1], best[0])


def test_allennlp_alone_trains_on(tmp_path):
    """What this is for."""
    folder = tmp_path / "run"
    train_model(configuration(tmp_path, [], patience=2), str(folder))
    killed_behind_the_last_epoch(folder)
    train_model(configuration(tmp_path, [], patience=2), str(folder), recover=True)

    assert (folder / "metrics_epoch_3.json").exists()


def test_time_is_that_of_all_processes(tmp_path):
    """Two epochs, and three more: as if the first two had taken an hour."""
    folder = tmp_path / "run"
    callbacks = [{"type": "elmo_resume"}]
    train_model(configuration(tmp_path, callbacks, num_epochs=2), str(folder))
    for path in folder.glob("training_state_*.th"):
        state = torch.load(path)
        (kept,) = [callback for callback in state["callbacks"] if "metrics" in callback]
        kept["metrics"]["training_duration"] = "1:00:00"
        torch.save(state, path)
    killed_behind_the_last_epoch(folder)
    configuration(tmp_path, callbacks).to_file(str(folder / "config.json"))
    train_model(configuration(tmp_path, callbacks), str(folder), recover=True)

    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["epoch"] == 4 and 3600 < seconds_of(metrics["training_duration"]) < 3700


def test_a_training_goes_on_in_a_folder_that_was_moved(tmp_path):
    """The best weights are not those of its last checkpoint."""
    folder, elsewhere = tmp_path / "run", tmp_path / "moved"
    train_model(configuration(tmp_path, [{"type": "elmo_resume"}]), str(folder))
    killed_behind_the_last_epoch(folder)
    folder.rename(elsewhere)

    train_model(configuration(tmp_path, [{"type": "elmo_resume"}]), str(elsewhere), recover=True)

    assert json.loads((elsewhere / "metrics.json").read_text())["epoch"] == 4
