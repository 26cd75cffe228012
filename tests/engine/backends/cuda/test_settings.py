import pytest

from elmo_plugin.engine.backends import cuda
from elmo_plugin.engine.backends.cuda import CudaSettings
from elmo_plugin.engine.errors import OptionsError


@pytest.mark.parametrize(
    "change,message",
    [
        ({"steps": "cudnn"}, r"steps is 'cudnn', expected one of \['auto', 'torch', 'triton', 'fused'\]"),
        ({"max_graphs": -1}, "max_graphs is -1, expected 0 or more"),
        ({"block_tokens": 0}, "block_tokens is 0, expected 1 or more"),
    ],
    ids=str,
)
def test_values_that_there_are_not_are_refused(change, message):
    with pytest.raises(OptionsError, match=message):
        CudaSettings(**change)


def test_configure_changes_what_is_named_and_returns_all():
    before = cuda.configure()
    try:
        assert cuda.configure(max_graphs=3) == CudaSettings(max_graphs=3)
        assert cuda.configure(steps="torch") == CudaSettings(max_graphs=3, steps="torch")
        with pytest.raises(OptionsError):
            cuda.configure(max_graphs=-3)
        assert cuda.configure().max_graphs == 3
        with pytest.raises(TypeError, match="max_graph"):
            cuda.configure(max_graph=3)
    finally:
        cuda.configure(**vars(before))
    cuda.release()
