"""Convolutions over the characters of words as products: faster than PyTorch's convolution where channels are few."""

import torch

from elmo_plugin.engine.backends.base import Convolution


def as_matrix(convolution: Convolution) -> torch.Tensor:
    """The filters as rows over a window: `(filters, width * channels)`, one character after the other."""
    return convolution.weight.transpose(1, 2).flatten(1)


def strongest_of(convolution: Convolution, embedded: torch.Tensor) -> torch.Tensor:
    """Return the largest value over all windows, `(words, filters)`, for `(words, characters, channels)`."""
    windows = embedded.unfold(1, convolution.weight.shape[2], 1).transpose(2, 3)  # (words, windows, width, channels)
    words, places = windows.shape[:2]
    weight = as_matrix(convolution)
    products = torch.mm(windows.reshape(words * places, weight.shape[1]), weight.t()).view(words, places, len(weight))
    strongest = products.max(dim=1).values
    return strongest if convolution.bias is None else strongest + convolution.bias
