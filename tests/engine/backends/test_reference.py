import numpy as np
import pytest
import torch

from elmo_plugin.engine import backends
from tests.engine import equations
from tests.engine.backends.jobs import LOOSE, NONE, TIGHT, random_jobs, run
from tests.engine.tolerance import BACKEND, assert_close


@pytest.mark.parametrize("clips", [LOOSE, TIGHT, NONE], ids=["loose", "tight", "none"])
@pytest.mark.parametrize("projection", [4, None])
@pytest.mark.parametrize("reverse", [False, True])
def test_equals_the_equations_row_by_row(reverse, projection, clips):
    """The oracle itself, against TensorFlow's cell in NumPy, whose gates come in another order."""
    lengths = [3, 7, 1]
    (job,) = random_jobs(lengths, 7, projection, 5, reverses=[reverse])
    results = run(backends.get("reference"), [job], lengths, clips, trained=())
    packing = backends.base.Packing(lengths, torch.device("cpu"))
    outputs = packing.unpack(results["0 outputs"], 3, 7).numpy()

    for rank, row in enumerate(packing.order.tolist()):
        inputs = packing.unpack(job["inputs"], 3, 7)[row, : lengths[row]].numpy()
        start = job["hidden"][rank].numpy(), job["cell"][rank].numpy()
        expected, (hidden, cell) = equations.cell(
            {"dim": 7, "projection_dim": projection or 7, "cell_clip": clips.cell, "proj_clip": clips.projection},
            *equations_weights(job),
            inputs[::-1] if reverse else inputs,
            start,
        )
        expected = expected[::-1] if reverse else expected
        for actual, wanted in (
            (outputs[row, : lengths[row]], expected),
            (results["0 hidden"][rank].numpy(), hidden),
            (results["0 cell"][rank].numpy(), cell),
        ):
            assert_close(torch.from_numpy(actual), torch.from_numpy(wanted.copy()), BACKEND[torch.float64])


def equations_weights(job):
    """The job's weights as the matrices of TensorFlow's cell: gates i, j, f, o, the forget bias without its 1."""
    kernel = torch.cat([job["input"], job["recurrent"]], dim=1).t()
    i, f, g, o = kernel.chunk(4, dim=1)
    bias_i, bias_f, bias_g, bias_o = job["bias"].chunk(4)
    return (
        torch.cat([i, g, f, o], dim=1).numpy(),
        torch.cat([bias_i, bias_g, bias_f, bias_o]).numpy(),
        None if job["projection"] is None else job["projection"].t().numpy(),
    )


def test_keeps_the_dtype():
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for value in run(backends.get("reference"), random_jobs([2, 1]), [2, 1], LOOSE, dtype=dtype).values():
            assert value.dtype == dtype


def test_hidden_and_cell_of_rows_end_with_their_last_token():
    """Forward: behind the last step; backward: behind the first."""
    lengths = [4, 2]
    for reverse in (False, True):
        results = run(backends.get("reference"), random_jobs(lengths, reverses=[reverse]), lengths, NONE, trained=())
        packing = backends.base.Packing(lengths, torch.device("cpu"))
        padded = packing.unpack(results["0 outputs"], 2, 4)
        last = padded[:, 0] if reverse else padded[[0, 1], np.array(lengths) - 1]
        assert torch.equal(results["0 hidden"], last)
