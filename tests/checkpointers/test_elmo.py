"""A training that is killed goes on bit for bit as if it had not been."""

import copy
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch

pytest.importorskip("allennlp")

from allennlp.commands.train import train_model  # noqa: E402
from allennlp.common import Params  # noqa: E402
from allennlp.common.checks import ConfigurationError  # noqa: E402
from allennlp.training import Checkpointer, gradient_descent_trainer  # noqa: E402
from allennlp.training.callbacks import TrainerCallback  # noqa: E402
from allennlp.training.trainer import TrainerCheckpoint  # noqa: E402

from elmo_plugin.checkpointers import elmo  # noqa: E402
from elmo_plugin.engine.lstm import LstmState  # noqa: E402
from elmo_plugin.engine.stream_state import StreamStates  # noqa: E402
from elmo_plugin.formats import read_weights  # noqa: E402

ROOT = Path(__file__).parent.parent.parent
TINY = ROOT / "experiments" / "pretraining" / "tiny.jsonnet"


@TrainerCallback.register("elmo_test_kill")
class Kill(TrainerCallback):
    """Ends the process with SIGKILL behind the given batch, while the next checkpoint is being written."""

    def __init__(self, serialization_dir: str, epoch: int, batch: int) -> None:
        super().__init__(serialization_dir)
        self._at = (epoch, batch)

    def on_batch(self, trainer, batch_inputs, batch_outputs, batch_metrics, epoch, batch_number, **kwargs):
        if (epoch, batch_number) == self._at:
            save = torch.save

            def save_half(state, path):
                save(state, path)
                os.truncate(path, os.path.getsize(path) // 2)
                os.kill(os.getpid(), signal.SIGKILL)

            torch.save = save_half


@pytest.fixture(autouse=True, scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lm")
    generator = torch.Generator().manual_seed(0)
    for name, count in (("train-0", 30), ("train-1", 30), ("heldout", 10)):
        lines = [" ".join(f"w{int(i)}" for i in torch.randint(0, 40, (5,), generator=generator)) for _ in range(count)]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return folder


def configuration(data, **changes):
    """Two epochs of five batches, sampled softmax and dropout, a checkpoint behind each batch."""
    parameters = Params.from_file(str(TINY), ext_vars={"LM_DATA": str(data)}).as_dict(quiet=True)
    parameters["train_data_path"] = parameters["vocabulary"]["corpus"] = f"{data}/train-*.txt"
    parameters["validation_data_path"] = f"{data}/heldout.txt"
    parameters["data_loader"]["batches_per_epoch"] = 5
    parameters["trainer"]["checkpointer"] = {"type": "elmo", "save_every_num_batches": 1}
    parameters["trainer"].update(changes)
    return parameters


def final_states(folder):
    """Everything that the last checkpoint holds."""
    return [torch.load(folder / f"{kind}_state_e2_b0{end}.th") for kind, end in FILES]


FILES = (("model", ""), ("training", ""), ("process", "_w0"))


def assert_equal(one, other):
    assert type(one) is type(other)
    if isinstance(one, torch.Tensor):
        assert torch.equal(one, other)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            if key not in NOT_COMPARED:
                assert_equal(one[key], other[key])
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        for pair in zip(one, other):
            assert_equal(*pair)
    else:
        assert one == other


#: a path, and the callback that kills
NOT_COMPARED = {"best_model_filename", "callbacks"}


@pytest.mark.parametrize(
    "batch", [pytest.param(3, id="in an epoch"), pytest.param(5, marks=pytest.mark.slow, id="at its end")]
)
def test_ten_steps_are_five_and_five_with_a_kill_between(data, tmp_path, monkeypatch, batch):
    train_model(Params(configuration(data)), str(tmp_path / "whole"))
    pieces = configuration(data, callbacks=[{"type": "elmo_test_kill", "epoch": 1, "batch": batch}])
    pieces["trainer"]["num_epochs"] = 2
    (tmp_path / "pieces.json").write_text(json.dumps(pieces))
    code = (
        "import sys; from allennlp.commands.train import train_model_from_file; import elmo_plugin\n"
        "from tests.checkpointers import test_elmo\n"
        f"train_model_from_file({str(tmp_path / 'pieces.json')!r}, {str(tmp_path / 'pieces')!r})"
    )
    killed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-2000:]
    assert (tmp_path / "pieces" / f"model_state_e1_b{batch - 1}.th").exists()
    assert not (tmp_path / "pieces" / f"model_state_e1_b{batch}.th").exists()

    monkeypatch.setattr(Kill, "on_batch", TrainerCallback.on_batch)
    train_model(Params(pieces), str(tmp_path / "pieces"), recover=True)

    for expected, found in zip(final_states(tmp_path / "whole"), final_states(tmp_path / "pieces")):
        assert_equal(found, expected)
    assert not list((tmp_path / "pieces").glob(".*")), "what was half written is still there"


@pytest.mark.parametrize("metric,cut_off", [pytest.param("+perplexity", 1, id="the first is best"), ("-perplexity", 2)])
def test_the_best_weights_of_a_training_that_was_cut_off_before_they_were_written(
    data, tmp_path, monkeypatch, metric, cut_off
):
    """AllenNLP writes them behind the checkpoint of their epoch."""
    parameters = configuration(data, validation_metric=metric)
    train_model(Params(copy.deepcopy(parameters)), str(tmp_path / "whole"))

    class CutOff(Exception):
        pass

    def link(source, target, calls=[]):  # noqa: B006
        calls.append(source)
        if len(calls) == cut_off:
            raise CutOff
        shutil.copyfile(source, target)

    with monkeypatch.context() as patched, pytest.raises(CutOff):
        patched.setattr(gradient_descent_trainer, "hardlink_or_copy", link)
        train_model(Params(copy.deepcopy(parameters)), str(tmp_path / "pieces"))
    train_model(Params(parameters), str(tmp_path / "pieces"), recover=True)

    assert_equal(*(torch.load(tmp_path / name / "best.th") for name in ("whole", "pieces")))
    for name in ("bilm/weights.hdf5", "model.tar.gz"):
        whole, pieces = (read_weights(tmp_path / run / name).everything() for run in ("whole", "pieces"))
        assert_equal(pieces, whole)


@pytest.mark.slow
def test_two_processes_go_on_where_they_stopped(data, tmp_path):
    """Each with its own streams."""
    parameters = configuration(data)
    parameters["distributed"] = {"cuda_devices": [-1, -1]}
    parameters["trainer"]["checkpointer"].update(save_every_num_batches=3, keep_most_recent_by_count=None)
    train_model(Params(copy.deepcopy(parameters)), str(tmp_path / "whole"), include_package=["elmo_plugin"])
    shutil.copytree(tmp_path / "whole", tmp_path / "pieces")
    for path in [*(tmp_path / "pieces").glob("*_e1_b3*"), *(tmp_path / "pieces").glob("*_e2_*")]:
        path.unlink()
    train_model(
        Params(copy.deepcopy(parameters)), str(tmp_path / "pieces"), recover=True, include_package=["elmo_plugin"]
    )
    states = [
        [torch.load(folder / f"{name}_state_e2_b0{end}.th") for name, end in (*FILES, ("process", "_w1"))]
        for folder in (tmp_path / "whole", tmp_path / "pieces")
    ]

    assert_equal(*states)
    assert not torch.equal(*(states[0][index]["streams"]["streams"]["cell"] for index in (2, 3)))


class Trainer:
    """As much of a trainer as a checkpointer sees."""

    def __init__(self, batches):
        self.model = torch.nn.ModuleDict({"linear": torch.nn.Linear(2, 2), "streams": StreamStates()})
        self._epochs_completed, self._batches_in_epoch_completed = 0, batches

    def get_checkpoint_state(self):
        epochs, batches = self._epochs_completed, self._batches_in_epoch_completed
        state = {"epochs_completed": epochs, "batches_in_epoch_completed": batches}
        return TrainerCheckpoint(dict(self.model.state_dict()), state)


def save(folder, batches, **parameters):
    trainer = Trainer(batches)
    trainer.model["streams"].put(True, LstmState(torch.full((1, 2, 4), 1.0), torch.full((1, 2, 6), float(batches))))
    checkpointer = Checkpointer.by_name("elmo")(str(folder), **parameters)
    checkpointer.save_checkpoint(trainer)
    return trainer, checkpointer


def test_checkpoints_are_complete_or_do_not_count(tmp_path):
    save(tmp_path, 1)
    _, checkpointer = save(tmp_path, 2)
    assert checkpointer.find_latest_checkpoint()[0].endswith("model_state_e0_b2.th")

    (tmp_path / "training_state_e0_b2.th").unlink()
    assert checkpointer.find_latest_checkpoint()[0].endswith("model_state_e0_b1.th")
    assert checkpointer.load_checkpoint().model_state["streams.cell"].unique().tolist() == [1.0]


def test_old_checkpoints_are_removed_whole(tmp_path):
    for batches in (1, 2, 3):
        save(tmp_path, batches, keep_most_recent_by_count=2)

    kinds = ("model_state_e0_b{}.th", "process_state_e0_b{}_w0.th", "training_state_e0_b{}.th")
    assert sorted(path.name for path in tmp_path.iterdir()) == [kind.format(b) for kind in kinds for b in (2, 3)]


def test_a_file_of_a_run_that_was_cut_off_is_written_anew(tmp_path):
    for name in ("model_state_e0_b1.th", "training_state_e0_b1.th"):
        (tmp_path / name).write_bytes(b"half a fi")
    trainer, checkpointer = save(tmp_path, 1)

    assert checkpointer.load_checkpoint().model_state["linear.weight"].equal(trainer.model["linear"].weight)


def test_random_numbers_go_on(tmp_path):
    _, checkpointer = save(tmp_path, 1)
    expected = random.random(), np.random.rand(), np.random.standard_normal(), float(torch.rand(()))
    checkpointer.load_checkpoint()

    assert (random.random(), np.random.rand(), np.random.standard_normal(), float(torch.rand(()))) == expected


def test_weights_that_are_not_finite_are_refused(tmp_path):
    trainer, checkpointer = save(tmp_path, 1)
    trainer.model["linear"].bias.data[1] = float("nan")
    trainer._batches_in_epoch_completed = 2
    message = r"1 tensors .* first is 'linear.bias'.*checkpoint is .*model_state_e0_b1"
    with pytest.raises(FloatingPointError, match=message):
        checkpointer.save_checkpoint(trainer)

    assert not list(tmp_path.glob("*_b2*"))


def test_each_process_has_its_own_streams(tmp_path):
    _, first = save(tmp_path, 1)
    with mock.patch.object(elmo, "is_distributed", lambda: True), mock.patch.object(elmo, "distributed"):
        elmo.distributed.get_world_size.return_value = 2
        with pytest.raises(ConfigurationError, match="a training with 1 processes, found 2"):
            first.load_checkpoint()
        second = Checkpointer.by_name("elmo")(str(tmp_path))
        second._rank = 1
        trainer = Trainer(1)
        trainer.model["streams"].put(True, LstmState(torch.zeros(1, 2, 4), torch.full((1, 2, 6), 7.0)))
        trainer.get_checkpoint_state = lambda: None
        second.save_checkpoint(trainer)
        assert elmo.distributed.barrier.called
        assert second.load_checkpoint().model_state["streams.cell"].unique().tolist() == [7.0]
    assert second._last_save_num_batches_in_epoch_completed == 1, "else it would wait for the others at the next batch"


def test_checkpoints_of_allennlps_checkpointer_are_not_passed_over(tmp_path):
    trainer = Trainer(1)
    Checkpointer(str(tmp_path)).save_checkpoint(trainer)
    with pytest.raises(ConfigurationError, match='none of the 1 checkpoints .* go on with "type": "default"'):
        Checkpointer.by_name("elmo")(str(tmp_path)).load_checkpoint()


def test_nothing_to_go_on_from(tmp_path):
    assert Checkpointer.by_name("elmo")(str(tmp_path)).load_checkpoint() is None


def test_sharded_models_are_refused(tmp_path):
    _, checkpointer = save(tmp_path, 1)
    checkpointer.state_is_sharded = True
    with pytest.raises(ConfigurationError, match="does not know sharded models"):
        checkpointer.save_checkpoint(Trainer(2))
