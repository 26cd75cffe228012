import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from elmo_plugin.engine import backends
from elmo_plugin.engine.backends.cpu import backend as cpu
from elmo_plugin.engine.backends.two_threads import run_both
from tests.engine.backends.jobs import PARTS, TIGHT, random_jobs, run


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


class Failure(Exception):
    pass


def fail():
    raise Failure


def where():
    return threading.get_ident(), torch.get_num_threads(), torch.is_grad_enabled()


def test_each_task_has_a_thread_and_its_share_of_the_operators_threads():
    with torch.no_grad():
        first, second = run_both(where, where)

    assert first == (threading.get_ident(), 1, False)
    assert second[0] != first[0] and second[1:] == (1, False)
    assert torch.get_num_threads() == 2


def test_four_threads_are_divided():
    torch.set_num_threads(5)

    first, second = run_both(where, where)

    assert (first[1], second[1], torch.get_num_threads()) == (2, 2, 5)


def test_one_thread_does_both():
    torch.set_num_threads(1)

    first, second = run_both(where, where)

    assert first[0] == second[0] == threading.get_ident()
    assert torch.get_num_threads() == 1


@pytest.mark.parametrize("tasks", [(fail, where), (where, fail), (fail, fail)])
def test_number_of_threads_is_restored_after_an_exception(tasks):
    with pytest.raises(Failure):
        run_both(*tasks)

    assert torch.get_num_threads() == 2
    assert run_both(where, where)[1][0] != threading.get_ident()


def test_exception_comes_when_both_tasks_have_ended():
    """The other task changes settings of the process, which must not happen after they are restored."""
    ended = []

    def slow():
        time.sleep(0.2)
        ended.append(True)

    with pytest.raises(Failure):
        run_both(fail, slow)

    assert ended


def test_a_call_inside_a_task_does_not_wait_for_itself():
    (outer, _), inner_of_second = run_both(lambda: run_both(where, where), lambda: run_both(where, where))

    assert outer[0] == threading.get_ident()
    assert inner_of_second[0][0] == inner_of_second[1][0] != outer[0]


def test_calls_from_several_threads_at_once():
    """Two models that run in two threads of a server."""
    jobs = random_jobs([5, 3, 3])
    expected = run(backends.get("cpu"), jobs, [5, 3, 3], TIGHT)
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(4) as pool:
        patch.setattr(cpu, "MIN_SIDE_BY_SIDE", 0)
        found = list(pool.map(lambda _: run(backends.get("cpu"), jobs, [5, 3, 3], TIGHT), range(40)))

    for results in found:
        for what, value in expected.items():
            assert torch.equal(results[what], value), what
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("trained", [(), PARTS], ids=["inference", "training"])
def test_two_threads_give_the_numbers_of_one(monkeypatch, trained):
    lengths = [40] * 16
    jobs = random_jobs(lengths, 32, 16, 40)
    assert 2 * sum(lengths) * jobs[0]["input"].numel() >= cpu.MIN_SIDE_BY_SIDE, "too little work for two threads"
    calls = []
    monkeypatch.setattr(cpu, "run_both", lambda *tasks: calls.append(tasks) or run_both(*tasks))

    two = run(backends.get("cpu"), jobs, lengths, TIGHT, trained=trained)
    torch.set_num_threads(1)
    one = run(backends.get("cpu"), jobs, lengths, TIGHT, trained=trained)

    assert len(calls) == (4 if trained else 2)
    for what, value in one.items():
        assert torch.equal(two[what], value), what


def test_little_work_stays_on_one_thread(monkeypatch):
    monkeypatch.setattr(cpu, "run_both", lambda *tasks: pytest.fail("not worth a second thread"))

    run(backends.get("cpu"), random_jobs([2, 1]), [2, 1], TIGHT)


def test_inference_mode_reaches_both_tasks(monkeypatch):
    """The second thread is not in inference mode and may not change such tensors in place."""
    monkeypatch.setattr(cpu, "MIN_SIDE_BY_SIDE", 0)
    jobs = random_jobs([5, 3])
    expected = run(backends.get("cpu"), jobs, [5, 3], TIGHT, trained=())
    with torch.inference_mode():
        actual = run(backends.get("cpu"), random_jobs([5, 3]), [5, 3], TIGHT, trained=())

    for what, value in expected.items():
        assert torch.equal(actual[what], value), what


FORK = """
import os, signal, threading, torch
from elmo_plugin.engine.backends.two_threads import run_both

torch.set_num_threads(2)
{before}
child = os.fork()
if child == 0:
    signal.alarm(120)  # a child that waits for ever is ended
    threads = run_both(threading.get_ident, threading.get_ident)
    os._exit(0 if threads[0] != threads[1] else 1)
{after}
assert os.waitpid(child, 0)[1] == 0
"""

HELD = """
started, go = threading.Event(), threading.Event()
other = threading.Thread(target=lambda: run_both(lambda: started.set() or go.wait(), lambda: None))
other.start()
started.wait()
torch.set_num_threads(2)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
@pytest.mark.parametrize(
    "before,after",
    [("run_both(int, int)", ""), (HELD, "go.set(); other.join()")],
    ids=["worker exists", "worker is busy"],
)
def test_works_in_a_forked_process(before, after):
    """Data loaders fork; the child has neither the second thread nor whoever would let go of the lock."""
    code = FORK.format(before=before, after=after)

    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=400)
