import pytest
import torch

from elmo_plugin.engine import backends
from elmo_plugin.engine.backends.cpu import inference
from elmo_plugin.engine.packing import Packing
from tests.engine.backends.jobs import TIGHT, random_jobs, run
from tests.engine.tolerance import BACKEND, assert_close

LENGTHS = [9, 9, 4, 1]


@pytest.mark.parametrize("tokens", [1, 3, 5, 8])
def test_blocks_of_steps_change_nothing(monkeypatch, tokens):
    whole = run(backends.get("cpu"), random_jobs(LENGTHS), LENGTHS, TIGHT, trained=())
    monkeypatch.setattr(inference, "BLOCK_TOKENS", tokens)
    packing = Packing(LENGTHS, torch.device("cpu"))

    for reverse in (False, True):
        blocks = list(inference.blocks_of_steps(packing, reverse))
        assert len(blocks) > 1
        assert [step for block in blocks for step in block] == list(packing.order_of_steps(reverse))
    in_blocks = run(backends.get("cpu"), random_jobs(LENGTHS), LENGTHS, TIGHT, trained=())
    for what, value in whole.items():
        assert_close(in_blocks[what], value, BACKEND[torch.float64], what)
