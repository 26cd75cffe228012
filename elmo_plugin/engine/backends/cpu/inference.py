"""
A layer in one direction without gradients.

The input product is made for blocks of steps, so that the memory does not grow with the length of the text. What can be
cut into steps is cut for a whole block at once: for a small model the calls of a step take as long as its products.
"""

from typing import Iterator, List, Sequence

import torch

from elmo_plugin.engine.backends.base import Clips, LstmJob, LstmResult
from elmo_plugin.engine.backends.cpu.products import Products
from elmo_plugin.engine.backends.gates import clip_
from elmo_plugin.engine.packing import Packing

# Tokens whose input products are made at once: enough for products at full speed, and 32 MiB of gates for 4096 cells,
# which the allocator gives again without asking the system for fresh pages.
BLOCK_TOKENS = 512


def blocks_of_steps(packing: Packing, reverse: bool) -> Iterator[List[int]]:
    """Cut the steps, in the order in which they are processed, into blocks of about `BLOCK_TOKENS` tokens."""
    block: List[int] = []
    tokens = 0
    for step in packing.order_of_steps(reverse):
        if block and tokens + packing.sizes[step] > BLOCK_TOKENS:
            yield block
            block, tokens = [], 0
        block.append(step)
        tokens += packing.sizes[step]
    if block:
        yield block


def infer(job: LstmJob, packing: Packing, clips: Clips, products: Products) -> LstmResult:
    """
    Run a job.

    # Parameters

    products : with the job's weights.
    """
    run = _Run(job, clips, products, outputs=job.inputs.new_empty((packing.tokens, job.hidden.shape[1])))
    for block in blocks_of_steps(packing, job.reverse):
        first, last = min(block), max(block)
        run.block(packing.offsets[first], packing.sizes[first : last + 1])
    return run.result()


class _Run:
    """A job on its way: outputs so far, and the state of each row."""

    def __init__(self, job: LstmJob, clips: Clips, products: Products, outputs: torch.Tensor) -> None:
        self._job, self._clips, self._products = job, clips, products
        self._outputs = outputs
        self._hidden, self._cell = job.hidden.clone(), job.cell.clone()
        # outputs of the step before, for the rows that were running in it
        self._last = self._hidden[:0]

    def block(self, start: int, sizes: Sequence[int]) -> None:
        """Process steps that lie side by side, of so many rows each, from the packed token `start` on."""
        tokens = slice(start, start + sum(sizes))
        inputs, cells = self._job.inputs[tokens], self._cell.shape[1]
        gates = self._job.weights.bias.expand(len(inputs), -1).clone()  # (tokens of the block, 4 cells)
        self._products.input.add_to(inputs, gates)
        parts = (gates, gates[:, : 2 * cells], *gates.split(cells, dim=1), self._outputs[tokens])
        steps = list(zip(*(part.split(list(sizes)) for part in parts)))
        for step in reversed(steps) if self._job.reverse else steps:
            self._step(*step)

    def _step(
        self,
        gates: torch.Tensor,
        i_and_f: torch.Tensor,
        i: torch.Tensor,
        f: torch.Tensor,
        g: torch.Tensor,
        o: torch.Tensor,
        output: torch.Tensor,
    ) -> None:
        running = len(gates)
        self._products.recurrent.add_to(self._hidden_of(running), gates)
        i_and_f.sigmoid_()
        g.tanh_()
        o.sigmoid_()
        c = self._cell[:running]
        clip_(c.mul_(f).addcmul_(i, g), self._clips.cell)
        if self._products.projection is None:
            torch.mul(o, torch.tanh(c), out=output)
        else:
            self._products.projection.into(o.mul_(torch.tanh(c)), output)
            clip_(output, self._clips.projection)
        self._last = output

    def _hidden_of(self, running: int) -> torch.Tensor:
        """The states of the rows of this step: those of the step before, but rows may have ended or begun."""
        before = len(self._last)
        if running < before:
            self._hidden[running:before] = self._last[running:]
            return self._last[:running]
        if running > before:
            return torch.cat([self._last, self._hidden[before:running]])
        return self._last

    def result(self) -> LstmResult:
        self._hidden[: len(self._last)] = self._last
        return LstmResult(outputs=self._outputs, hidden=self._hidden, cell=self._cell)
