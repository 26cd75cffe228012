"""What can be chosen about the cuda backend."""

from dataclasses import dataclass

from elmo_plugin.engine.errors import OptionsError

AUTO = "auto"
STEPS = (AUTO, "torch", "triton", "fused")


@dataclass(frozen=True)
class CudaSettings:
    """
    Settings of the process. None changes a result beyond the order of sums.

    # Parameters

    steps : how a time step is computed:

        - "torch": by PyTorch's operators;
        - "triton": products by PyTorch, everything else in Triton kernels;
        - "fused": products inside the Triton kernels too;
        - "auto": "fused" in half precision, "triton" in float32, "torch" in float64 and where Triton does not work,
          which the log then says.
    max_graphs : captured graphs that are kept for each layer shape; 0 for none. Each takes some memory of the GPU.
    block_tokens : tokens of a direction whose input products are held at once without gradients:
        `4 * cells` numbers for each.
    """

    steps: str = AUTO
    max_graphs: int = 64
    block_tokens: int = 2048

    def __post_init__(self) -> None:
        if self.steps not in STEPS:
            raise OptionsError(f"backend 'cuda': steps is {self.steps!r}, expected one of {list(STEPS)}.")
        if self.max_graphs < 0:
            raise OptionsError(f"backend 'cuda': max_graphs is {self.max_graphs}, expected 0 or more.")
        if self.block_tokens < 1:
            raise OptionsError(f"backend 'cuda': block_tokens is {self.block_tokens}, expected 1 or more.")
