"""The masks that AllenNLP gives an encoder, and the lengths that the engine needs."""

from typing import List, Optional

import torch

from elmo_plugin.engine.errors import ShapeError


def lengths_of(name: str, inputs: torch.Tensor, input_dim: int, mask: Optional[torch.Tensor]) -> List[int]:
    """
    Check a padded batch and return the number of steps of each row.

    # Parameters

    name : of the encoder, for messages.
    inputs : `(batch, steps, input_dim)`.
    mask : `(batch, steps)`, bool, true for the first steps of each row; None where nothing is padded.

    # Raises

    `ShapeError` where the inputs have another width, the mask another shape, or a row has padding in front of or
    between its steps.
    """
    if inputs.dim() != 3 or inputs.shape[-1] != input_dim:
        raise ShapeError(
            f"{name}: the inputs have shape {tuple(inputs.shape)}, expected (batch, steps, {input_dim}). Give "
            '"input_size" the width of what stands in front of it.'
        )
    batch, steps = inputs.shape[:2]
    if mask is None:
        return [steps] * batch
    if mask.shape != (batch, steps):
        raise ShapeError(f"{name}: the mask has shape {tuple(mask.shape)}, expected {(batch, steps)}, as the inputs.")
    lengths = mask.sum(dim=1)
    is_wrong = (mask.bool() != (torch.arange(steps, device=mask.device) < lengths[:, None])).any(dim=1)
    if bool(is_wrong.any()):
        row = int(is_wrong.nonzero()[0])
        raise ShapeError(
            f"{name}: row {row} of the mask has padding in front of or between its {int(lengths[row])} steps. Move the "
            "padding behind them."
        )
    return lengths.tolist()
