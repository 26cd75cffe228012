"""The stored start state of a biLM inside an AllenNLP model."""

from typing import List, Optional

import torch

from elmo_plugin.adapters.word_numbers import number_words, numbers_of
from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.warm import ORDINARY_TEXT, mean_state, warm_up


def prepare_warm_state(bilm: BiLm, vocabulary: Optional[List[str]] = None) -> None:
    """
    Compute the warm state of a biLM from the English text of the engine; nothing where its state is not "warm".

    # Parameters

    bilm : the biLM, with its weights.
    vocabulary : the words of a word-level biLM.
    """
    if bilm.warm is None:
        return
    if not bilm.options.is_word_level:
        warm_up(bilm)
        return
    table = number_words(vocabulary, "the biLM")
    rows = [torch.from_numpy(numbers_of(sentence.split(), table)) for sentence in ORDINARY_TEXT]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    state = mean_state(bilm, ids.to(bilm.token_encoder.boundaries.device))
    bilm.warm.set(state.hidden[:, 0], state.cell[:, 0])
