"""The convolutions over the characters of words, without gradients: no copies of windows, the maximum at once."""

from functools import partial
from typing import List, Sequence

import torch

from elmo_plugin.engine.backends.base import Convolution
from elmo_plugin.engine.backends.compiled import library
from elmo_plugin.engine.backends.cpu.windows import as_matrix
from elmo_plugin.engine.backends.two_threads import run_both

# Fewer words than this are not worth a second thread.
_MIN_SIDE_BY_SIDE = 8


def prepare(convolutions: Sequence[Convolution]) -> List[torch.Tensor]:
    """Lay out the filters, which will be used many times."""
    return [library.in_panels(as_matrix(each), torch.float32) for each in convolutions]


def strongest(embedded: torch.Tensor, convolutions: Sequence[Convolution], panels: List[torch.Tensor]) -> torch.Tensor:
    """
    Return the largest value of each filter over all windows, `(words, filters)`, for `(words, characters, channels)`.

    # Parameters

    panels : what `prepare` made of the filters.
    """
    counts = [each.weight.shape[0] for each in convolutions]
    widths = [each.weight.shape[2] for each in convolutions]
    run = partial(library.run_strongest, panels=panels, widths=widths, counts=counts)
    half = len(embedded) // 2
    if half >= _MIN_SIDE_BY_SIDE:
        found = torch.cat(run_both(partial(run, embedded[:half]), partial(run, embedded[half:])))
    else:
        found = run(embedded)
    biases = [
        embedded.new_zeros(count) if each.bias is None else each.bias for each, count in zip(convolutions, counts)
    ]
    return found.add_(torch.cat(biases))
