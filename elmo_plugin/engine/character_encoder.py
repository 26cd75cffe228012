"""The character CNN: the token layer of a biLM that reads characters (Kim et al. 2015, Jozefowicz et al. 2016)."""

from typing import Any, Callable, Dict, Iterator, Optional, Tuple, cast

import torch
from torch import nn
from torch.nn import functional as F

from elmo_plugin.engine import characters
from elmo_plugin.engine.backends.base import Backend, Convolution
from elmo_plugin.engine.backends.reference import ReferenceBackend
from elmo_plugin.engine.encoder_base import TokenEncoder, check_range, holds_integers
from elmo_plugin.engine.errors import ShapeError
from elmo_plugin.engine.evidence import Derived
from elmo_plugin.engine.options import CharCnnOptions

# Words that pass through the convolutions at once: bounds the memory, and words of similar length share a piece.
WORDS_AT_ONCE = 256

# What convolves where a caller names no backend.
PLAIN = ReferenceBackend()

_ACTIVATIONS: Dict[str, Callable[[torch.Tensor], torch.Tensor]] = {"relu": torch.relu, "tanh": torch.tanh}


class CharacterCnnEncoder(TokenEncoder):
    """
    Characters, convolutions with a maximum over positions, highway layers, projection.

    # Parameters

    options : sizes of the layers.
    projection_dim : width of a word's vector. Where the filters have this width already there is no projection.
    """

    batch_ndim = 3

    def __init__(self, options: CharCnnOptions, projection_dim: int) -> None:
        super().__init__()
        self._max_characters = options.max_characters_per_token
        self._output_dim = projection_dim
        self._widest = max(width for width, _ in options.filters)
        self._activation = _ACTIVATIONS[options.activation]
        self._small_uniform = options.activation == "relu"
        width, filters = options.embedding_dim, options.num_filters
        self.char_embedding = nn.Parameter(torch.empty(characters.NUM_CHARACTER_IDS, width))
        self._memo: Derived[Any] = Derived()  # where a backend keeps what it made of the filters; no part of any state
        self.convolutions = nn.ModuleList(nn.Conv1d(width, count, size) for size, count in options.filters)
        self.highways = nn.ModuleList(HighwayLayer(filters) for _ in range(options.n_highway))
        self.projection = None if filters == projection_dim else nn.Linear(filters, projection_dim)
        rows = [
            characters.boundary_ids(symbol, self._max_characters)
            for symbol in (characters.BEGIN_SENTENCE, characters.END_SENTENCE)
        ]
        boundaries = torch.stack([torch.from_numpy(row) for row in rows])
        self.register_buffer("boundaries", boundaries, persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights from the distributions that bilm-tf starts its training with."""
        with torch.no_grad():
            self.char_embedding.uniform_(-1.0, 1.0)
            self.char_embedding[0] = 0.0
            for convolution in self._each_convolution():
                if self._small_uniform:
                    convolution.weight.uniform_(-0.05, 0.05)
                else:
                    fan_in = convolution.kernel_size[0] * convolution.in_channels
                    convolution.weight.normal_(0.0, fan_in**-0.5)
                cast(torch.Tensor, convolution.bias).zero_()
            for highway in self._each_highway():
                highway.reset_parameters()
            if self.projection is not None:
                self.projection.weight.normal_(0.0, self.projection.in_features**-0.5)
                self.projection.bias.zero_()

    def _each_convolution(self) -> Iterator[nn.Conv1d]:
        return (cast(nn.Conv1d, convolution) for convolution in self.convolutions)

    def _each_highway(self) -> "Iterator[HighwayLayer]":
        return (cast(HighwayLayer, highway) for highway in self.highways)

    def check(self, ids: torch.Tensor) -> None:
        if ids.dim() != 3 or not holds_integers(ids):
            raise ShapeError(
                f"ids have shape {tuple(ids.shape)} and dtype {ids.dtype}, expected whole numbers of shape (batch, "
                f"tokens, {self._max_characters}): this biLM reads characters. In an AllenNLP config use the token "
                'indexer "elmo" (or "elmo_characters") under this embedder\'s key, not "single_id".'
            )
        check_range(ids, self.char_embedding.shape[0], "character ids")
        if ids.shape[2] != self._max_characters:
            raise ShapeError(
                f"ids have {ids.shape[2]} characters per token (shape {tuple(ids.shape)}), expected "
                f"{self._max_characters}, the max_characters_per_token of this biLM. Set "
                f'"max_characters_per_token": {self._max_characters} in the token indexer "elmo".'
            )

    def unique(self, ids: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        return _unique_rows(ids)

    def encode(self, ids: torch.Tensor, backend: Optional[Backend] = None) -> torch.Tensor:
        if ids.shape[0] == 0:
            return self.char_embedding.new_zeros((0, self._output_dim))
        used = _used_columns(ids)
        order = torch.argsort(used)
        pieces = []
        for rows in order.split(WORDS_AT_ONCE):
            # Behind the last character a window sees nothing but padding, so that one such window is enough.
            columns = min(ids.shape[1], int(used[rows[-1]]) + self._widest)
            pieces.append(self._encode_piece(ids[rows, :columns], PLAIN if backend is None else backend))
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order), device=order.device)
        return torch.cat(pieces)[back]

    def _encode_piece(self, ids: torch.Tensor, backend: Backend) -> torch.Tensor:
        embedded = F.embedding(ids, self.char_embedding)  # (words, characters, char dim)
        filters = [Convolution(each.weight, each.bias) for each in self._each_convolution()]
        vectors = self._activation(backend.strongest(embedded, filters, self._memo))  # (words, filters)
        for highway in self._each_highway():
            vectors = highway(vectors)
        return vectors if self.projection is None else self.projection(vectors)


class HighwayLayer(nn.Module):
    """
    One highway layer (Srivastava et al. 2015) in the form of bilm-tf: the gate opens for the candidate.

    AllenNLP's `Highway` gates the input instead; the two are the same function with the gate's weights negated.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.candidate_weight = nn.Parameter(torch.empty(dim, dim))
        self.candidate_bias = nn.Parameter(torch.empty(dim))
        self.gate_weight = nn.Parameter(torch.empty(dim, dim))
        self.gate_bias = nn.Parameter(torch.empty(dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights as bilm-tf does: the layer starts by passing most of its input on."""
        with torch.no_grad():
            for weight in (self.candidate_weight, self.gate_weight):
                weight.normal_(0.0, weight.shape[0] ** -0.5)
            self.candidate_bias.zero_()
            self.gate_bias.fill_(-2.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map `(words, dim)` to `(words, dim)`."""
        gate = torch.sigmoid(F.linear(x, self.gate_weight, self.gate_bias))
        candidate = F.relu(F.linear(x, self.candidate_weight, self.candidate_bias))
        return gate * candidate + (1 - gate) * x


def _used_columns(ids: torch.Tensor) -> torch.Tensor:
    """Return for each row the number of columns up to the last one that is not padding, `(words,)`."""
    column = torch.arange(1, ids.shape[1] + 1, device=ids.device)
    return ((ids != characters.PADDING + 1) * column).max(dim=1).values


def _unique_rows(ids: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """
    Find the distinct rows of `(tokens, characters)`.

    Sorting one number per row is many times faster than `torch.unique(dim=0)`. The numbers are fixed random sums of
    the ids; should two different rows ever share one, the slow way is taken.
    """
    if ids.shape[0] == 0:
        return ids, ids.new_zeros(0)
    generator = torch.Generator().manual_seed(20180215)
    factors = torch.randint(-(2**62), 2**62, (ids.shape[1],), generator=generator).to(ids.device)
    keys, index = torch.unique((ids * factors).sum(dim=1), return_inverse=True)
    # Any row of a key may stand for it, so it does not matter which write is the last.
    chosen = torch.empty_like(keys).scatter_(0, index, torch.arange(len(ids), device=ids.device))
    words = ids[chosen]
    if torch.equal(words[index], ids):
        return words, index
    words, index = torch.unique(ids, dim=0, return_inverse=True)
    return words, index
