"""What each of two processes does in the tests of distributed training: a module that they can import."""

from datetime import timedelta
from pathlib import Path
from typing import Dict

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from elmo_plugin.engine import batch_to_ids
from elmo_plugin.token_embedders.elmo import ElmoEmbedder

SHARDS = ([["The", "cat", "sat", "."], ["Yes"]], [["A", "dog"], [], ["No", "."]])


def embedder_for(weights: str, fine_tune: bool) -> ElmoEmbedder:
    torch.manual_seed(0)
    return ElmoEmbedder(weights=weights, num_mixes=2, projection_dim=3, dropout=0.0, fine_tune=fine_tune)


def gradients(embedder: torch.nn.Module, rank: int) -> Dict[str, torch.Tensor]:
    """Gradients behind two steps over a shard, state carried from the first to the second."""
    ids = batch_to_ids(SHARDS[rank])
    embedder.zero_grad()
    for _ in range(2):
        embedder(elmo_tokens=ids).pow(2).sum().backward()
    return {
        name.replace("module.", "", 1): parameter.grad
        for name, parameter in embedder.named_parameters()
        if parameter.grad is not None
    }


def work(rank: int, folder: str) -> None:
    """Process `rank` of two: wrap the embedders, write their gradients to `folder`."""
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2, timeout=timedelta(seconds=120)
    )
    for name, fine_tune in (("frozen", False), ("tuned", True)):
        wrapped = DistributedDataParallel(embedder_for(f"{folder}/bilm", fine_tune))
        torch.save(gradients(wrapped, rank), Path(folder) / f"{name}_{rank}.pt")
    distributed.destroy_process_group()
