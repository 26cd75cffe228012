from functools import partial

import pytest
import torch

from elmo_plugin.engine import backends
from elmo_plugin.engine.backends.base import FLOAT16, INT8, LstmJob
from elmo_plugin.engine.backends.cpu import products
from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.evidence import Derived
from tests.engine.backends.jobs import LOOSE, all_of, one_job, random_jobs, run
from tests.engine.tolerance import BACKEND, assert_close

LENGTHS = [9, 9, 4, 1]

#: largest error of outputs and states of one small layer, whose values are about 1. Seen: 3e-4 and 4e-2.
ROUNDED = {FLOAT16: 2e-3, INT8: 0.15}

job = partial(one_job, LENGTHS)


def outputs_of(some_job):
    return all_of(some_job, LENGTHS, "cpu")


def test_supports_cpus_only():
    backend = backends.get("cpu")

    assert backend.supports(torch.device("cpu"))
    assert not backend.supports(torch.device("cuda")) and not backend.supports(torch.device("meta"))


@pytest.mark.parametrize("packed_from", [0, products.MIN_PACKED], ids=["packed", "transposed"])
def test_prepared_weights_give_the_same_numbers(monkeypatch, packed_from):
    monkeypatch.setattr(products, "MIN_PACKED", packed_from)
    memo = Derived()
    expected = outputs_of(job(dtype=torch.float64))

    for _ in range(2):
        assert_close(outputs_of(job(memo)).double(), expected, BACKEND[torch.float32])


def test_weights_are_prepared_once_and_again_when_they_change(monkeypatch):
    made = []
    prepare = products.prepare
    monkeypatch.setattr(products, "prepare", lambda *arguments: made.append(1) or prepare(*arguments))
    some_job = job(Derived())
    before = outputs_of(some_job)
    assert torch.equal(outputs_of(some_job), before)
    assert len(made) == 1

    some_job.weights.recurrent.mul_(2)
    after = outputs_of(some_job)
    some_job.weights.projection.data.fill_(0.5)
    last = outputs_of(some_job)

    assert len(made) == 3
    for found in (after, last):
        assert not torch.equal(found, before)
    assert_close(last, outputs_of(LstmJob(*list(vars(some_job).values())[:5])), BACKEND[torch.float32])


@pytest.mark.parametrize("precision", ROUNDED)
def test_rounded_weights(precision):
    reason = backends.get("cpu").refuses(precision)
    if reason is not None:
        pytest.skip(reason)
    expected = outputs_of(job(dtype=torch.float64))
    for memo in (None, Derived()):
        found = outputs_of(job(memo, precision)).double()

        assert 0 < float((found - expected).abs().max()) <= ROUNDED[precision]


def test_gradients_are_those_of_the_whole_weights():
    """A precision counts without gradients only."""
    plain, rounded = job(), job(Derived(), FLOAT16)
    for some_job in (plain, rounded):
        some_job.weights.recurrent.requires_grad_()
        outputs_of(some_job).sum().backward()

    assert torch.equal(rounded.weights.recurrent.grad, plain.weights.recurrent.grad)


def test_other_dtypes_have_no_precision():
    message = "precision 'int8' was asked for, but the weights are torch.float64, expected torch.float32"
    with pytest.raises(OptionsError, match=message):
        outputs_of(job(precision=INT8, dtype=torch.float64))


def test_a_job_without_memo_is_run_with_the_weights_as_they_are(monkeypatch):
    monkeypatch.setattr(products, "prepare", lambda *arguments: pytest.fail("prepared"))

    assert run(backends.get("cpu"), random_jobs(LENGTHS), LENGTHS, LOOSE, dtype=torch.float32, trained=())
