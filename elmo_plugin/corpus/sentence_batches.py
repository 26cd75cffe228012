"""
Batches of whole sentences of about equal length, a sentence in each row: the other way to cut a text beside streams.

Every row begins with a sentence and ends with it, so that a state that is reset at each batch is reset at each
sentence. A sentence is read as in `streams`.
"""

from typing import Iterator, List, Optional

import numpy as np

from elmo_plugin.corpus.streams import StreamBatch


def count_batches(block_sizes: Iterator[int], rows: int) -> int:
    """Number of batches of blocks of so many sentences each."""
    return sum(-(-size // rows) for size in block_sizes)


def sentence_batches(
    blocks: Iterator[List[np.ndarray]], rows: int, seed: Optional[int] = None
) -> Iterator[StreamBatch]:
    """
    Sort the sentences of each block by length and cut it into batches.

    # Parameters

    blocks : rows of the word table of each sentence with both boundaries, `(words + 2,)`.
    rows : sentences of a batch; the last one of a block is filled up with rows without a token.
    seed : of the order of a block's batches; from the shortest to the longest when `None`.
    """
    random = None if seed is None else np.random.default_rng(seed)
    first = 0
    for block in blocks:
        by_length = np.argsort([len(sentence) for sentence in block], kind="stable")
        groups = [by_length[start : start + rows] for start in range(0, len(block), rows)]
        order = range(len(groups)) if random is None else random.permutation(len(groups)).tolist()
        for index in order:
            group = groups[index].tolist()
            batch = StreamBatch.empty(rows, max(len(block[number]) for number in group) - 1)
            for row, number in enumerate(group):
                batch.put(row, 0, first + number, block[number], 0, len(block[number]) - 1)
            yield batch
        first += len(block)
