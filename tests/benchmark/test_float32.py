import pytest
import torch

from elmo_plugin.benchmark.float32 import without_tf32


def settings():
    return torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32


def test_tf32_is_off_inside_and_as_before_afterwards():
    before = settings()
    assert before[1], "PyTorch's default"
    torch.set_float32_matmul_precision("high")
    try:
        with pytest.raises(ValueError), without_tf32():
            assert settings() == ("highest", False)
            raise ValueError
        assert settings() == ("high", True)
    finally:
        torch.set_float32_matmul_precision(before[0])
