"""Options and fixtures of the whole suite. Nothing here imports AllenNLP: the engine is tested without it too."""

import logging
import sys
from typing import Callable, Iterator, List

import pytest
import torch
from hypothesis import settings

from elmo_plugin.engine import backends
from elmo_plugin.engine.errors import BackendUnavailableError

RUN_ON_REQUEST = {"slow": "--run-slow", "network": "--run-network"}
SET_UP_BY_ALLENNLP = (None, "tqdm")  # the root, and the logger of its progress bars


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--run-slow", action="store_true", help="also run the tests marked slow")
    parser.addoption("--run-network", action="store_true", help="also run the tests marked network")
    parser.addoption(
        "--require-backend",
        action="append",
        default=[],
        metavar="NAME",
        help="fail, instead of skipping, where backend NAME cannot run; may be given several times",
    )

    parser.addoption(
        "--require-browser", action="store_true", help="fail, instead of skipping, where no browser can be started"
    )


def pytest_configure(config: pytest.Config) -> None:
    settings.register_profile("any machine", deadline=None)  # none fails because the machine is busy
    settings.load_profile("any machine")
    known = {*backends.names(), "cuda"}  # "cuda" also stands for the device of the tests marked gpu
    unknown = set(config.getoption("--require-backend")) - known
    if unknown:
        raise pytest.UsageError(f"--require-backend {sorted(unknown)}: choose from {sorted(known)}")


def pytest_collection_modifyitems(config: pytest.Config, items: List[pytest.Item]) -> None:
    for marker, option in RUN_ON_REQUEST.items():
        if not config.getoption(option):
            skip = pytest.mark.skip(reason=f"{marker}: run with {option}")
            for item in items:
                if item.get_closest_marker(marker):
                    item.add_marker(skip)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and not torch.cuda.is_available():
        _skip_or_fail(item.config, "cuda", "no CUDA device")


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """A training inside a test sets up the loggers of the process, as `allennlp train` does: they are put back."""
    level, hook = logging.getLogger().level, sys.excepthook
    before = {name: list(logging.getLogger(name).handlers) for name in SET_UP_BY_ALLENNLP}
    yield
    logging.getLogger().setLevel(level)
    for name, handlers in before.items():
        logger = logging.getLogger(name)
        for handler in set(logger.handlers) - set(handlers):
            handler.close()
        logger.handlers[:] = handlers
    sys.excepthook = hook


@pytest.fixture
def require_backend(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Call it with the name of a backend: where that cannot run, the test skips, or fails under --require-backend."""

    def require(name: str) -> None:
        try:
            backends.get(name)
        except BackendUnavailableError as error:
            _skip_or_fail(request.config, name, str(error))

    return require


def _skip_or_fail(config: pytest.Config, backend: str, reason: str) -> None:
    if backend in config.getoption("--require-backend"):
        pytest.fail(f"--require-backend {backend}: {reason}", pytrace=False)
    pytest.skip(reason)
