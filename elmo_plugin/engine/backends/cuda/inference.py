"""Forward without gradients: blocks of steps in fixed memory, launched as captured graphs where that pays."""

from functools import partial
from typing import Hashable, List, Optional, Sequence, Tuple

import torch

from elmo_plugin.engine.backends.base import Clips, LstmJob, LstmResult, LstmWeights
from elmo_plugin.engine.backends.cuda.lanes import Lanes
from elmo_plugin.engine.backends.cuda.memory import Memory
from elmo_plugin.engine.backends.cuda.schedule import Span, blocks, pieces, row_bucket, span
from elmo_plugin.engine.backends.cuda.steps import Steps
from elmo_plugin.engine.backends.cuda.workspace import Workspace
from elmo_plugin.engine.packing import Packing


class Inference:
    """
    One call.

    # Parameters

    jobs : of one layer, with contiguous weights, all of one shape and dtype.
    packing : with at least one row.
    clips : see `Clips`.
    steps : how a step is computed.
    workspace : for so many jobs or more, of their shape, with room for the packing's rows.
    lanes : where the jobs run side by side.
    """

    def __init__(
        self,
        jobs: Sequence[LstmJob],
        packing: Packing,
        clips: Clips,
        steps: Steps,
        workspace: Workspace,
        lanes: Lanes,
    ) -> None:
        self._jobs = jobs
        self._packing = packing
        self._clips = clips
        self._steps = steps
        self._workspace = workspace
        self._memories = workspace.memories[: len(jobs)]
        self._lanes = lanes
        most = steps.graph_rows()
        self._bucket = row_bucket(packing.rows)
        self._captures = workspace.graphs.is_used and (most is None or self._bucket <= most)

    def run(self) -> List[LstmResult]:
        """Compute everything; what is returned is not part of the workspace."""
        rows = self._packing.rows
        for job, memory in zip(self._jobs, self._memories):
            memory.hidden[:rows].copy_(job.hidden)
            memory.cell[:rows].copy_(job.cell)
        outputs = [job.inputs.new_empty((self._packing.tokens, job.hidden.shape[1])) for job in self._jobs]
        reverses = [job.reverse for job in self._jobs]
        for first, last in blocks(self._packing, reverses, self._workspace.tokens):
            spans = [span(self._packing, reverse, first, last) for reverse in reverses]
            self._block(spans, last - first)
            for piece, memory, output in zip(spans, self._memories, outputs):
                output[piece.place] = memory.outputs[: piece.tokens]
        return [
            LstmResult(output, memory.hidden[:rows].clone(), memory.cell[:rows].to(output.dtype, copy=True))
            for output, memory in zip(outputs, self._memories)
        ]

    def _block(self, spans: Sequence[Span], steps: int) -> None:
        for job, memory, whole in zip(self._jobs, self._memories, spans):
            torch.addmm(
                job.weights.bias,
                job.inputs[whole.place],
                job.weights.input.t(),
                out=memory.inputs[: whole.tokens],
            )
        tables = torch.stack([whole.table() for whole in spans]).to(
            self._memories[0].schedule.device, non_blocking=True
        )
        done = 0
        for count in pieces(steps):
            for memory, table in zip(self._memories, tables):
                memory.schedule[:count].copy_(table[done : done + count])
            if self._captures:
                self._workspace.graphs.run(self._key(count), partial(self._steps_of_all, None, count))
            else:
                self._steps_of_all([whole.piece(done, count) for whole in spans], count)
            done += count

    def _steps_of_all(self, spans: Optional[Sequence[Span]], count: int) -> None:
        self._lanes.run(
            [
                partial(self._steps_of_one, job, memory, None if spans is None else spans[index], count)
                for index, (job, memory) in enumerate(zip(self._jobs, self._memories))
            ]
        )

    def _steps_of_one(self, job: LstmJob, memory: Memory, known: Optional[Span], count: int) -> None:
        for index in range(count):
            rows = self._bucket if known is None else known.sizes[index]
            self._steps.forward(memory, job.weights, self._clips, index, rows, known)

    def _key(self, count: int) -> Hashable:
        """Everything that a captured graph cannot read anew."""
        return (
            count,
            self._bucket,
            self._clips,
            tuple(_addresses(job.weights) for job in self._jobs),
        )


def _addresses(weights: LstmWeights) -> Tuple[int, Optional[int]]:
    projection = None if weights.projection is None else weights.projection.data_ptr()
    return weights.recurrent.data_ptr(), projection
