import threading

import pytest
import torch

from elmo_plugin.engine.backends.cuda import precision
from elmo_plugin.engine.errors import ShapeError

CPU = torch.device("cpu")
matmul = torch.backends.cuda.matmul


def uses_tf32():
    new = precision._setting("fp32_precision")
    return new == "tf32" if new is not None else matmul.allow_tf32


@pytest.fixture(autouse=True)
def settings_of_the_process():
    """Whatever a test turns on is off afterwards."""
    yield
    if precision._setting("fp32_precision") is not None:
        torch.backends.fp32_precision = "none"
        matmul.fp32_precision = "none"
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = True
    matmul.allow_fp16_reduced_precision_reduction = True
    if precision._setting("allow_bf16_reduced_precision_reduction") is not None:
        matmul.allow_bf16_reduced_precision_reduction = True
    if precision._setting("allow_fp16_accumulation") is not None:
        matmul.allow_fp16_accumulation = False


@pytest.mark.parametrize("level", ["high", "medium"])
def test_tf32_is_off_inside_and_back_afterwards(level):
    torch.set_float32_matmul_precision(level)
    with precision.exact_products(CPU):
        assert not uses_tf32()

    assert uses_tf32() and torch.get_float32_matmul_precision() == level


def test_tf32_that_was_off_stays_off():
    with precision.exact_products(CPU):
        assert not uses_tf32()

    assert not uses_tf32() and torch.get_float32_matmul_precision() == "highest"


needs_new = pytest.mark.skipif(
    precision._setting("fp32_precision") is None, reason="torch < 2.9 has one interface to TF32"
)


@needs_new
def test_tf32_of_the_newer_interface():
    matmul.fp32_precision = "tf32"
    with precision.exact_products(CPU):
        assert matmul.fp32_precision == "ieee"

    assert matmul.fp32_precision == "tf32"


@needs_new
def test_tf32_that_comes_from_the_setting_for_all_of_pytorch_still_comes_from_there():
    matmul.fp32_precision = "none"
    torch.backends.fp32_precision = "tf32"
    with precision.exact_products(CPU):
        assert matmul.fp32_precision == "ieee"

    assert matmul.fp32_precision == "tf32"
    torch.backends.fp32_precision = "none"
    assert matmul.fp32_precision == "none"


def test_tf32_of_convolutions():
    """PyTorch allows it by default."""
    assert torch.backends.cudnn.allow_tf32
    with precision.exact_products(CPU):
        assert not torch.backends.cudnn.allow_tf32

    assert torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    with precision.exact_products(CPU):
        assert not torch.backends.cudnn.allow_tf32
    assert not torch.backends.cudnn.allow_tf32


@needs_new
def test_tf32_of_convolutions_that_were_set_apart_from_recurrent_layers():
    cudnn = torch.backends.cudnn
    cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision = "tf32", "ieee"
    with precision.exact_products(CPU):
        assert cudnn.conv.fp32_precision == "ieee"

    assert (cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision) == ("tf32", "ieee")


def test_sums_in_half_precision_are_off_inside_and_back_afterwards():
    names = [name for name in precision._SUMS if precision._setting(name) is not None]
    assert names
    for name in names:
        setattr(matmul, name, True)
    with precision.exact_products(CPU):
        assert not any(getattr(matmul, name) for name in names)
    assert all(getattr(matmul, name) for name in names)

    for name in names:
        setattr(matmul, name, False)
    with precision.exact_products(CPU):
        pass
    assert not any(getattr(matmul, name) for name in names)


@pytest.mark.skipif(precision._setting("allow_fp16_accumulation") is None, reason="older PyTorch")
def test_accumulation_in_half_precision():
    matmul.allow_fp16_accumulation = True
    with precision.exact_products(CPU):
        assert not matmul.allow_fp16_accumulation

    assert matmul.allow_fp16_accumulation


def test_the_last_one_out_puts_the_settings_back():
    """Else one thread would take the other's settings for the user's."""
    torch.set_float32_matmul_precision("high")
    inside, go = threading.Event(), threading.Event()

    def other():
        with precision.exact_products(CPU):
            inside.set()
            assert go.wait(60)

    thread = threading.Thread(target=other)
    with precision.exact_products(CPU):
        thread.start()
        assert inside.wait(60)
    assert not uses_tf32(), "the other one still needs it"
    go.set()
    thread.join()

    assert uses_tf32() and torch.get_float32_matmul_precision() == "high"


def test_settings_are_back_after_an_error():
    torch.set_float32_matmul_precision("high")
    with pytest.raises(ValueError), precision.exact_products(CPU):
        raise ValueError

    assert uses_tf32()


def test_autocast_is_off_inside():
    a = torch.ones(2, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16), precision.exact_products(CPU):
        assert (a @ a).dtype == torch.float32


def test_dtypes_that_differ_or_are_unknown_are_refused():
    half, single = torch.ones(1).half(), torch.ones(1)

    precision.check_dtypes({"a": half, "b": half})
    with pytest.raises(ShapeError, match=r"dtypes \{'a': torch.float16, 'b': torch.float32\}, expected one dtype"):
        precision.check_dtypes({"a": half, "b": single})
    with pytest.raises(ShapeError, match="dtype is torch.int64, expected one of"):
        precision.check_dtypes({"a": torch.ones(1).long()})
