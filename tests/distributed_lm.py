"""What each of two processes does in the test of distributed pre-training: a module that they can import."""

from datetime import timedelta
from typing import Dict, Iterable, List

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from elmo_plugin.data_loaders.elmo_corpus import ElmoCorpusLoader
from elmo_plugin.dataset_readers.elmo_corpus import ElmoCorpusReader
from elmo_plugin.models.elmo_language_model import ElmoLanguageModel
from elmo_plugin.vocabularies.elmo_corpus import ElmoCorpusVocabulary

ROWS, STEPS, BATCHES = 3, 5, 10
OPTIONS = {
    "lstm": {"dim": 12, "projection_dim": 6, "n_layers": 2, "cell_clip": 3, "proj_clip": 3},
    "char_cnn": {
        "activation": "relu",
        "embedding": {"dim": 4},
        "filters": [[1, 4], [2, 8]],
        "n_highway": 1,
        "n_characters": 262,
        "max_characters_per_token": 10,
    },
}

Batch = Dict[str, torch.Tensor]


def model(folder: str) -> ElmoLanguageModel:
    torch.manual_seed(0)
    vocab = ElmoCorpusVocabulary.from_corpus(corpus=folder + "/*.txt")
    return ElmoLanguageModel(vocab, OPTIONS, n_negative_samples=8, dropout=0.0, loss_scale=3.0)


def batches(path: str, vocab: ElmoCorpusVocabulary) -> Iterable[Batch]:
    """As many batches as both processes train on, without the end of the text, where rows are not full."""
    reader = ElmoCorpusReader(max_characters_per_token=10)
    loader = ElmoCorpusLoader(
        reader, path, batch_size=ROWS, unroll_steps=STEPS, shuffle=False, batches_per_epoch=BATCHES
    )
    loader.index_with(vocab)
    return loader


def train(module: torch.nn.Module, text: Iterable[Batch]) -> List[float]:
    """The loss of each step, without `loss_scale`."""
    torch.manual_seed(1)  # of the negatives
    optimizer = torch.optim.Adagrad(module.parameters(), lr=0.2, initial_accumulator_value=1.0)
    losses = []
    for batch in text:
        optimizer.zero_grad()
        loss = module(**batch)["loss"]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 10.0)
        optimizer.step()
        losses.append(float(loss.detach()) / 3.0)
    return losses


def work(rank: int, folder: str) -> None:
    """Process `rank` of two: train on its shard, write its losses, its metrics and the weights to `folder`."""
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2, timeout=timedelta(seconds=300)
    )
    own = model(folder)
    losses = train(DistributedDataParallel(own), batches(folder + "/*.txt", own.vocab))
    metrics = own.get_metrics(reset=True)
    torch.save((losses, metrics, own.state_dict()), f"{folder}/{rank}.pt")
    distributed.destroy_process_group()
