import logging
import re
from types import SimpleNamespace

import pytest
import torch

pytest.importorskip("allennlp")

from elmo_plugin.callbacks import elmo_progress  # noqa: E402
from elmo_plugin.callbacks.elmo_progress import ElmoProgress  # noqa: E402

METRICS = {"sampled_loss_forward": 5.25, "sampled_loss_backward": 5.5, "loss": 9.0}


def trainer(groups=1):
    model = torch.nn.Linear(1000, 250, bias=False)  # a million bytes
    return SimpleNamespace(model=model, data_loader=range(100), _num_epochs=3, _num_gradient_accumulation_steps=groups)


def batch(tokens):
    return {"forward_targets": torch.tensor([list(range(tokens)) + [-100]])}


def lines(caplog, monkeypatch, progress, calls, groups=1):
    """What is logged by batches at the given times."""
    caplog.set_level(logging.INFO)
    for number, (now, tokens) in enumerate(calls, 1):
        monkeypatch.setattr(elmo_progress.time, "monotonic", lambda now=now: now)
        inputs = [batch(tokens)] * groups
        progress.on_batch(trainer(groups), inputs, [], METRICS, epoch=1, batch_number=number, is_training=True)
    return [record.message for record in caplog.records]


def test_place_speed_time_and_losses(caplog, monkeypatch):
    progress = ElmoProgress("folder", every_seconds=10)
    (line,) = lines(caplog, monkeypatch, progress, [(100.0, 50), (106.0, 600), (112.0, 600), (113.0, 600)])

    # two batches in 12 seconds; 97 batches of this epoch and the 100 of the last one are left
    assert line == (
        "epoch 2 of 3, batch 3 of 100: 100 tokens/s in each process, 0:19:42 left, "
        "sampled_loss_forward 5.2500, sampled_loss_backward 5.5000"
    )


def test_batches_are_groups_where_gradients_are_accumulated(caplog, monkeypatch):
    progress = ElmoProgress("folder", every_seconds=1)
    (line,) = lines(caplog, monkeypatch, progress, [(0.0, 1), (2.0, 10)], groups=4)

    assert "batch 2 of 25: 20 tokens/s" in line


def test_says_nothing_in_evaluation_or_in_other_processes(caplog):
    caplog.set_level(logging.INFO)
    progress = ElmoProgress("folder", every_seconds=0)
    progress.on_start(trainer(), is_primary=False)
    for more in ({"is_training": False}, {"is_training": True, "is_primary": False}):
        for _ in range(3):
            progress.on_batch(trainer(), [batch(3)], [], METRICS, epoch=0, batch_number=1, **more)

    assert not caplog.records


def test_memory_up_front(caplog):
    caplog.set_level(logging.INFO)
    model = trainer()
    ElmoProgress("folder").on_start(model)
    model.model.weight.requires_grad_(False)
    ElmoProgress("folder").on_start(model)
    first, second = (record.message for record in caplog.records)

    assert re.fullmatch(r"memory: 97\dK for the weights, 97\dK for gradients, up to 1.9M for the optimiser; .*", first)
    assert "0B for gradients, up to 0B for the optimiser" in second
