"""Whether two systems differ on the same test items by more than chance."""

from typing import Callable

import numpy as np

RESAMPLES = 9999
#: of the texts times the resamples that are in memory at once
_BLOCK = 4_000_000


def paired_p_value(
    first: np.ndarray,
    second: np.ndarray,
    groups: np.ndarray,
    score: Callable[[np.ndarray], np.ndarray],
    resamples: int = RESAMPLES,
    seed: int = 1,
) -> float:
    """
    Test the difference of two corpus scores by approximate randomisation (Noreen, 1989), two-sided.

    If the systems are alike, either could have done on any item what the other did there. So their results are swapped
    on random items; the p-value is the share of such swaps that leave a difference at least as large as the real one.
    A system may have been trained several times: its score is then the mean over the trainings, and an item is swapped
    in all of them at once, since it is the items that are the sample. Items of one text, questions about a paragraph
    for example, are no independent sample: they are swapped together.

    # Parameters

    first, second : `(trainings, items, numbers)`: what each item adds to the sums that a score is made of.
    groups : `(items,)`: the number of each item's text, 0, 1, ...
    score : of the sums: `(..., numbers)` to `(...)`.
    resamples : swaps to draw; the p-value is at least 1 / (resamples + 1).
    seed : of the draws.

    # Raises

    `ValueError` where the two are not of the same shape, or not every item has a group.
    """
    if first.shape != second.shape:
        raise ValueError(f"the two systems have results of shapes {first.shape} and {second.shape}, expected the same.")
    if groups.shape != first.shape[1:2]:
        raise ValueError(f"{len(groups)} groups for {first.shape[1]} items, expected one for each.")
    totals = first.sum(axis=1), second.sum(axis=1)  # (trainings, numbers)
    count = int(groups.max(initial=-1)) + 1
    gains = np.zeros((count, first.shape[0], first.shape[2]))  # (texts, trainings, numbers)
    np.add.at(gains, groups, (second - first).swapaxes(0, 1))

    def distances(moved: np.ndarray) -> np.ndarray:
        return abs(score(totals[1] - moved).mean(axis=-1) - score(totals[0] + moved).mean(axis=-1))

    # Sums in another order are not the same to the last bit.
    observed = distances(np.zeros_like(totals[0])) - 1e-12
    random = np.random.default_rng(seed)
    block = max(1, _BLOCK // max(1, count))
    as_large = 0
    for start in range(0, resamples, block):
        is_swapped = random.integers(0, 2, size=(min(block, resamples - start), count)).astype(float)
        moved = np.tensordot(is_swapped, gains, axes=(1, 0))  # (resamples, trainings, numbers)
        as_large += int((distances(moved) >= observed).sum())
    return (as_large + 1) / (resamples + 1)
