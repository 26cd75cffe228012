"""
Batches of whole sentences of about equal length, a sentence in each row: the other way to cut a text beside streams.

Every row begins with a sentence and ends with it, so that a state that is reset at each batch is reset at each
sentence. A sentence is read as in `streams`.
"""

from typing import Callable, Iterator, List, Optional

import numpy as np

from elmo_plugin.corpus.streams import LazySentence, StreamBatch


def count_batches(block_sizes: Iterator[int], rows: int) -> int:
    """Number of batches of blocks of so many sentences each."""
    return sum(-(-size // rows) for size in block_sizes)


def sentence_batches(
    blocks: Iterator[List[LazySentence]],
    rows: int,
    seed: Optional[int] = None,
    is_skipped: Optional[Callable[[], bool]] = None,
) -> Iterator[Optional[StreamBatch]]:
    """
    Sort the sentences of each block by length and cut it into batches. The rows of a batch are good until the next one
    is asked for.

    # Parameters

    rows : sentences of a batch; the last one of a block is filled up with rows without a token.
    seed : of the order of a block's batches; from the shortest to the longest when `None`.
    is_skipped : as for `stream_batches`.
    """
    random = None if seed is None else np.random.default_rng(seed)
    first = 0
    for block in blocks:
        by_length = np.argsort([sentence.tokens for sentence in block], kind="stable")
        groups = [by_length[start : start + rows] for start in range(0, len(block), rows)]
        order = range(len(groups)) if random is None else random.permutation(len(groups)).tolist()
        for index in order:
            if is_skipped is not None and is_skipped():
                yield None
                continue
            group = groups[index].tolist()
            block[0].block.begin_batch()
            batch = StreamBatch.empty(rows, max(block[number].tokens for number in group))
            for row, number in enumerate(group):
                sentence = block[number]
                batch.put(row, 0, first + number, sentence.block[sentence.place], 0, sentence.tokens)
            yield batch
        first += len(block)
