"""
The warm state: what a biLM remembers, on average, behind ordinary text.

In training the LSTMs hardly ever start from zero, so that the first words of a sentence are off the distribution that
the biLM knows. Starting each sentence from one stored, typical state avoids that and keeps every vector independent of
what was embedded before.
"""

from typing import List, Optional, Sequence

import torch

from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.lstm import LstmState
from elmo_plugin.engine.sentence_ids import SentenceIds

#: Sentences that run one after the other through a row; rows run side by side.
SENTENCES_PER_ROW = 4

#: Plain English that was written for this purpose: several subjects, lengths and tenses.
ORDINARY_TEXT = (
    "The train was late again this morning , so most of us walked .",
    "She opened the window and listened to the rain for a while .",
    "Prices rose by about two percent in the last quarter , the bank said .",
    "Have you ever wondered why the sky turns red in the evening ?",
    "A small company in the north has built a cheaper kind of battery .",
    "He had forgotten his keys , and the shop was already closed .",
    "The committee will meet on Thursday to discuss the new rules .",
    '" I do not know , " she answered , " but I can find out . "',
    "In 1998 the town had fewer than 4,000 inhabitants .",
    "Mix the flour with the butter , add some salt and let it rest .",
    "Water boils at a lower temperature on a high mountain .",
    "They won the first game and lost the second by a single point .",
    "The results , which were published in May , surprised many people .",
    "Nobody had expected the old bridge to hold for so long .",
    "If the weather stays dry , the harvest should be good this year .",
    "The doctor asked him to come back in two weeks .",
    "It is one of those films that you enjoy more the second time .",
    "Several ships were waiting outside the harbour .",
    "We moved to a larger house because the children needed more room .",
    "The second part of the book deals with the history of the region .",
    "Please send your answer before the end of the month .",
    "Most of the birds leave in autumn and return in early spring .",
    "The court decided that the contract was not valid .",
    "There was a long silence ; then everybody began to talk at once .",
    "A good map is worth more than a fast car in these hills .",
    "The software reads the file , checks it and reports every error .",
    "Her brother worked as a teacher in a village near the coast .",
    "The minister did not say when the road would be finished .",
    "He looked at the letter , smiled , and put it into his pocket .",
    "Light travels much faster than sound .",
    "The museum is open every day except Monday .",
    "They could not agree on a date , so the visit was put off .",
)


def warm_up(
    bilm: BiLm, sentences: Optional[Sequence[Sequence[str]]] = None, vocabulary: Optional[List[str]] = None
) -> None:
    """
    Compute and store the warm state of a biLM.

    # Parameters

    bilm : with state "warm".
    sentences : ordinary text of the language that the biLM was trained on, at least `SENTENCES_PER_ROW` sentences;
        None for the English text of this module.
    vocabulary : the words of a word-level biLM.

    # Raises

    `OptionsError` where the biLM has another state policy, or is word-level and there is no vocabulary.
    """
    if bilm.warm is None:
        raise OptionsError(f'the biLM has state {bilm.state!r}; only one with state "warm" keeps a warm state.')
    words = [sentence.split() for sentence in ORDINARY_TEXT] if sentences is None else sentences
    state = mean_state(bilm, SentenceIds(bilm, vocabulary)(words))
    bilm.warm.set(state.hidden[:, 0], state.cell[:, 0])


@torch.no_grad()
def mean_state(bilm: BiLm, ids: torch.Tensor) -> LstmState:
    """
    Return the mean state behind text.

    The sentences are dealt to rows, every row runs its sentences one after the other with its state carried, and the
    states behind all sentences but a row's first are averaged. Sentences that do not fill another row are left out.

    # Parameters

    bilm : any biLM; its own policy and its carried state are left alone.
    ids : `(sentences, words, ...)`, as `BiLm.forward` takes them; at least `SENTENCES_PER_ROW` sentences.

    # Returns

    One row: hidden `(layers, 1, 2 * projection)`, cell `(layers, 1, 2 * cells)`.
    """
    if ids.shape[0] < SENTENCES_PER_ROW:
        raise OptionsError(f"the warm state needs {SENTENCES_PER_ROW} sentences or more, {ids.shape[0]} were given.")
    rows = ids.shape[0] // SENTENCES_PER_ROW
    state: Optional[LstmState] = None
    hidden, cell = [], []
    for turn in range(SENTENCES_PER_ROW):
        state = bilm.run_from(ids[turn * rows : (turn + 1) * rows], state)
        if turn > 0:
            hidden.append(state.hidden)
            cell.append(state.cell)
    return LstmState(
        hidden=torch.cat(hidden, dim=1).mean(dim=1, keepdim=True), cell=torch.cat(cell, dim=1).mean(dim=1, keepdim=True)
    )
