"""A biLM that was never trained: what its layers tell comes from the words and their order alone."""

from dataclasses import replace

import torch

from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.tensor_table import expected_shapes
from elmo_plugin.formats.weight_set import WeightSet


def random_bilm(like: WeightSet, seed: int) -> WeightSet:
    """
    Make the weights that a training would start from.

    # Parameters

    like : the architecture and, for biLMs that need them, the words.
    seed : of the weights.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        bilm = BiLm(like.options, backend="reference", state="reset")
    state = bilm.state_dict()
    tensors = {name: state[name].clone() for name in expected_shapes(like.options)}
    words = like.vocabulary if like.options.needs_vocabulary else None
    return replace(like, tensors=tensors, softmax=None, vocabulary=words, source=f"random weights, seed {seed}")
