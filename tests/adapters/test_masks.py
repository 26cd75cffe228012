import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.adapters.masks import lengths_of
from elmo_plugin.engine.errors import ShapeError

MASKS = st.integers(0, 5).flatmap(
    lambda steps: st.lists(st.lists(st.booleans(), min_size=steps, max_size=steps), min_size=1, max_size=4)
)


@given(MASKS)
def test_lengths_are_those_of_masks_without_holes(rows):
    mask = torch.tensor(rows, dtype=torch.bool).reshape(len(rows), -1)
    inputs = torch.zeros(*mask.shape, 3)
    holes = [index for index, row in enumerate(rows) if row != sorted(row, reverse=True)]

    if holes:
        with pytest.raises(ShapeError, match=f"encoder: row {holes[0]} of the mask.* its {sum(rows[holes[0]])} steps"):
            lengths_of("encoder", inputs, 3, mask)
    else:
        assert lengths_of("encoder", inputs, 3, mask) == [sum(row) for row in rows]


def test_a_mask_of_another_shape_is_refused():
    with pytest.raises(ShapeError, match=r"encoder: the mask has shape \(2, 4\), expected \(2, 5\)"):
        lengths_of("encoder", torch.zeros(2, 5, 3), 3, torch.ones(2, 4, dtype=torch.bool))
