"""The biLM: token encoder and LSTM stack, ids in, layers out. The public door of the engine."""

from dataclasses import dataclass
from typing import List, Mapping, Optional, Tuple

import torch
from torch import nn

from elmo_plugin.engine import backends, state
from elmo_plugin.engine.backends.base import FLOAT32
from elmo_plugin.engine.errors import OptionsError, ShapeError
from elmo_plugin.engine.lstm import BiLstm, LstmState, full_precision
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.engine.packing import Packing
from elmo_plugin.engine.tensor_table import check_tensors, expected_shapes, optional_shapes
from elmo_plugin.engine.token_encoder import build_token_encoder
from elmo_plugin.engine.word_cache import WordCache


@dataclass(frozen=True)
class BiLmOutput:
    """
    The layers of a padded batch.

    # Parameters

    layers : `(num_layers, batch, steps, 2 * projection)`; the token layer first, its vector twice side by side; zero
        where there is no token.
    mask : `(batch, steps)`, bool.
    """

    layers: torch.Tensor
    mask: torch.Tensor


@dataclass(frozen=True)
class PackedLayers:
    """
    The layers of the tokens alone, sentence boundaries included.

    # Parameters

    layers : `(tokens, 2 * projection)` each, the token layer first.
    packing : where the tokens are.
    lengths : words of each row without its boundaries, `(batch,)` int64.
    words : words of the longest row that the batch has room for.
    """

    layers: List[torch.Tensor]
    packing: Packing
    lengths: torch.Tensor
    words: int

    def padded(self, packed: torch.Tensor, with_boundaries: bool) -> torch.Tensor:
        """Put `(tokens, dim)` into `(batch, words, dim)`, or `(batch, words + 2, dim)` with the boundaries."""
        batch = self.lengths.shape[0]
        if with_boundaries:
            return self.packing.unpack(packed, batch, self.words + 2)
        row, step = self.packing.places
        inner = (step > 0) & (step <= self.lengths[row])
        padded = packed.new_zeros((batch, self.words, packed.shape[1]))
        return padded.index_put((row[inner], step[inner] - 1), packed[inner])

    def mask(self, with_boundaries: bool) -> torch.Tensor:
        """Where the padded batch has tokens, bool."""
        steps = self.words + 2 if with_boundaries else self.words
        device = self.lengths.device
        if not with_boundaries:
            return torch.arange(steps, device=device) < self.lengths[:, None]
        mask = torch.zeros((self.lengths.shape[0], steps), dtype=torch.bool, device=device)
        mask[self.packing.places] = True
        return mask

    def output(self, with_boundaries: bool) -> BiLmOutput:
        """All layers as one padded tensor, and its mask."""
        layers = torch.stack([self.padded(layer, with_boundaries) for layer in self.layers])
        return BiLmOutput(layers=layers, mask=self.mask(with_boundaries))


class BiLm(nn.Module):
    """
    A bidirectional language model (Peters et al. 2018, section 3.1) without its softmax.

    # Parameters

    options : the architecture.
    backend : "auto", or the name of a backend, which is then used or refused.
    state : "carried", "reset" or "warm"; see `elmo_plugin.engine.state`.
    fine_tune : train the biLM. Where it is false no graph is kept through it.
    word_cache : megabytes of vectors of words that are kept across calls of `run` while the biLM is frozen; 0 for none.
        See `elmo_plugin.engine.word_cache`.
    precision : of the LSTMs' products where no gradient is needed: "float32" (exact), or "float16" or "int8" on CPUs.

    Everything is computed in the dtype of the weights, also inside autocast.
    """

    def __init__(
        self,
        options: BiLmOptions,
        *,
        backend: str = backends.AUTO,
        state: str = state.CARRIED,
        fine_tune: bool = False,
        word_cache: float = 0.0,
        precision: str = FLOAT32,
    ) -> None:
        super().__init__()
        _check_fine_tune(fine_tune, precision)
        self.options = options
        self.token_encoder = build_token_encoder(options)
        self.lstm = BiLstm(options.lstm, backend=backend, precision=precision)
        self.fine_tune = fine_tune
        self.warm, self._states = _start(state, options)
        self.word_cache = None if word_cache == 0 else WordCache(word_cache)
        for parameter in self.parameters():
            parameter.requires_grad_(fine_tune)

    @property
    def num_layers(self) -> int:
        """Number of layers that are returned: the token layer and each LSTM layer."""
        return self.options.num_layers

    @property
    def output_dim(self) -> int:
        """Width of a returned layer."""
        return self.options.output_dim

    @property
    def precision(self) -> str:
        """Of the LSTMs' products where no gradient is needed."""
        return self.lstm.precision

    @property
    def fine_tune(self) -> bool:
        """Whether a graph is kept through the biLM; may be changed, as where a trainer freezes and thaws it."""
        return self._fine_tune

    @fine_tune.setter
    def fine_tune(self, value: bool) -> None:
        _check_fine_tune(value, self.precision)
        self._fine_tune = value

    @property
    def state(self) -> str:
        """The state policy."""
        return self._states.policy

    @property
    def carried(self) -> Optional[LstmState]:
        """The state that the next call goes on from, row by row, where state is carried; None for a new beginning."""
        return self._states.kept

    @carried.setter
    def carried(self, kept: Optional[LstmState]) -> None:
        self._states.kept = kept

    def reset_states(self) -> None:
        """Forget the state that earlier calls left behind."""
        self._states.reset()

    def load_tensors(self, tensors: Mapping[str, torch.Tensor], source: str) -> None:
        """
        Take all weights from tensors under this engine's names.

        # Parameters

        tensors : exactly those of the architecture; the optional ones of `tensor_table` may be missing.
        source : where they come from, for messages.

        # Raises

        `WeightFileError` with one table of everything that is missing, surplus or of another shape.
        """
        shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        check_tensors(shapes, expected_shapes(self.options), source, optional_shapes(self.options))
        # What an earlier model left behind in the optional ones is not this model's.
        if self.warm is not None:
            self.warm.clear()
        self.lstm.clear_residuals()
        own = set(self.state_dict())
        outcome = self.load_state_dict({name: tensors[name] for name in tensors if name in own}, strict=False)
        not_loaded = set(outcome.missing_keys) - set(optional_shapes(self.options))
        assert not not_loaded, not_loaded
        self.reset_states()

    def forward(self, ids: torch.Tensor) -> BiLmOutput:
        """
        Return the layers of a padded batch with its sentence boundaries.

        # Parameters

        ids : `(batch, words, characters)`, or `(batch, words)` for a word-level model; whole numbers, 0 for padding,
            which may only follow the words of a row; without boundaries.

        # Returns

        `BiLmOutput` over `words + 2` steps. A row without words holds its two boundaries where state is carried;
        else it is not run, and is all padding.

        # Raises

        `ShapeError` where the ids cannot be for this biLM.
        """
        return self.run(ids).output(with_boundaries=True)

    def run(self, ids: torch.Tensor) -> PackedLayers:
        """Like `forward`, but leave the layers packed: no memory and no work for padding."""
        lengths = self.checked_lengths(ids)
        steps = lengths + 2 if self.state == state.CARRIED else torch.where(lengths > 0, lengths + 2, lengths)
        packing = Packing(steps.tolist(), ids.device)
        keep_graph = torch.is_grad_enabled() and self.fine_tune
        with torch.set_grad_enabled(keep_graph), full_precision(ids.device):
            embedded = self._embed(ids, lengths, packing, None if self.fine_tune else self.word_cache)
            begun = self._states.begin(self.lstm.zero_state(ids.shape[0], embedded))
            outputs, final = self.lstm(embedded, packing, begun.select(packing.order))
            self._states.end(begun, final, packing.order)
            layers = [torch.cat([embedded, embedded], dim=1)] + outputs
        return PackedLayers(layers=layers, packing=packing, lengths=lengths, words=ids.shape[1])

    @torch.no_grad()
    def run_from(self, ids: torch.Tensor, start: Optional[LstmState]) -> LstmState:
        """
        Return the state behind each row of a batch, apart from the policy and from what is carried.

        # Parameters

        ids : as `forward` takes them.
        start : the state of each row in front of the batch; None for zeros.
        """
        lengths = self.checked_lengths(ids)
        packing = Packing((lengths + 2).tolist(), ids.device)
        with full_precision(ids.device):
            embedded = self._embed(ids, lengths, packing, cache=None)
            if start is None:
                start = self.lstm.zero_state(ids.shape[0], embedded)
            _, final = self.lstm(embedded, packing, start.select(packing.order))
        return final.select(torch.argsort(packing.order))

    def encode_words(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the vectors of words in the token layer, `(words, projection)`, for ids `(words, ...)`."""
        with full_precision(ids.device):
            return self.token_encoder.encode(ids, self.lstm.backend_for(ids.device))

    def checked_lengths(self, ids: torch.Tensor) -> torch.Tensor:
        """Words of each row, `(batch,)` int64; raise `ShapeError` where `forward` would refuse the ids."""
        self._check_device(ids)
        self.token_encoder.check(ids)
        return _lengths(ids, self.token_encoder.batch_ndim)

    def _embed(
        self, ids: torch.Tensor, lengths: torch.Tensor, packing: Packing, cache: Optional[WordCache]
    ) -> torch.Tensor:
        tokens = packing.pack(self._with_boundaries(ids, lengths))
        return self.token_encoder(tokens, cache, self.lstm.backend_for(ids.device))  # (tokens, projection)

    def _with_boundaries(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        begin, end = self.token_encoder.boundaries
        rows = torch.arange(ids.shape[0], device=ids.device)
        bounded = ids.new_zeros((ids.shape[0], ids.shape[1] + 2) + tuple(ids.shape[2:]), dtype=torch.int64)
        bounded[:, 1:-1] = ids
        bounded[:, 0] = begin
        bounded[rows, lengths + 1] = end
        return bounded

    def _check_device(self, ids: torch.Tensor) -> None:
        own = self.token_encoder.boundaries.device
        if ids.device != own:
            raise ShapeError(
                f"ids are on {ids.device}, but the biLM is on {own}. Move one to the other: "
                "ids.to(device), or model.to(device)."
            )


def _check_fine_tune(fine_tune: bool, precision: str) -> None:
    if fine_tune and precision != FLOAT32:
        raise OptionsError(
            f"precision {precision!r} rounds the weights of a frozen biLM, and fine_tune trains them: it would be "
            "trained in float32 and evaluated in something else. Leave one of the two out."
        )


def _lengths(ids: torch.Tensor, batch_ndim: int) -> torch.Tensor:
    """Words of each row; refuse a batch with padding between words, which no biLM has seen in training."""
    mask = ids > 0
    if batch_ndim == 3:
        mask = mask.any(dim=2)
    lengths = mask.sum(dim=1)
    if not torch.equal(mask, torch.arange(mask.shape[1], device=mask.device) < lengths[:, None]):
        row = int((mask != (torch.arange(mask.shape[1], device=mask.device) < lengths[:, None])).any(1).nonzero()[0])
        raise ShapeError(
            f"row {row} of the ids has padding (0) in front of or between its words, expected padding only behind "
            "the last word. Take the empty places out before the biLM."
        )
    return lengths


def _start(policy: str, options: BiLmOptions) -> Tuple[Optional[state.WarmState], state.StateKeeper]:
    warm = state.WarmState(options.lstm) if policy == state.WARM else None
    return warm, state.StateKeeper(policy, warm)
