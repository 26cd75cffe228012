"""The LSTM stack of the biLM as an encoder."""

import inspect
from typing import Any, Mapping, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from overrides import overrides
from torch import nn

from elmo_plugin.adapters.masks import lengths_of
from elmo_plugin.adapters.weight_sources import find_weights
from elmo_plugin.engine.lstm import BiLstm
from elmo_plugin.engine.options import BiLmOptions, LstmOptions
from elmo_plugin.engine.packing import Packing
from elmo_plugin.engine.state import CARRIED, RESET, StateKeeper
from elmo_plugin.formats.record import LSTM_ONLY, BiLmRecord
from elmo_plugin.formats.weight_set import WeightSet


@Seq2SeqEncoder.register("elmo_bilm")
class ElmoBiLmEncoder(Seq2SeqEncoder):
    """
    The biLM's stack of projected, clipped LSTMs over any vectors.

    Each direction has layers of its own, which never see the other direction, so that the last layer still says
    nothing about a token itself in the direction that has yet to read it. Registered as "elmo_bilm".

    # Parameters

    input_size : width of the input. With `weights` None for the biLM's projection; another width puts a linear map
        in front, which is trained in any case.
    hidden_size : width of the output of one direction (the biLM's `projection_dim`).
    cell_size : cells of each layer and direction; None for `hidden_size`, which means no projection.
    num_layers : layers of each direction.
    cell_clip, projection_clip : bounds on the absolute values of cell states and projections; None for no bound.
    use_skip_connections : add the input of every layer but the first to its output.
    weights : a biLM, as for the token embedder `elmo`, to take everything above and the weights from; what is given
        beside it must be the biLM's.
    trainable : train the stack. Where it is false gradients still reach the input.
    state : "reset", as other encoders, or "carried", where each call goes on from the last one.
    backend : "auto", or the name of a backend, which is then used or refused.
    serialization_dir : passed by AllenNLP; see `elmo_plugin.adapters.weight_sources`.

    # Raises

    `ConfigurationError` where parameters are missing, no sizes, or contradict the weights.
    """

    def __init__(
        self,
        input_size: Optional[int] = None,
        hidden_size: Optional[int] = None,
        cell_size: Optional[int] = None,
        num_layers: Optional[int] = None,
        cell_clip: Optional[float] = 3.0,
        projection_clip: Optional[float] = 3.0,
        use_skip_connections: bool = True,
        weights: Optional[str] = None,
        trainable: bool = True,
        state: str = RESET,
        backend: str = "auto",
        serialization_dir: Optional[str] = None,
    ) -> None:
        super().__init__(stateful=state == CARRIED)
        if state not in (RESET, CARRIED):
            raise ConfigurationError(f'"state" is {state!r}; the encoder elmo_bilm takes "{RESET}" or "{CARRIED}".')
        self._weights_name = weights
        self._options: Optional[BiLmOptions] = None
        self._input_map: Optional[nn.Linear] = None
        sizes = {"hidden_size": hidden_size, "cell_size": cell_size, "num_layers": num_layers}
        for name, size in {"input_size": input_size, **sizes}.items():
            if size is not None and size < 1:
                raise ConfigurationError(f'elmo_bilm: "{name}" is {size}, expected a whole number of at least 1.')
        if weights is None:
            if input_size is None or hidden_size is None:
                raise ConfigurationError('elmo_bilm needs "input_size" and "hidden_size", or "weights".')
            options = LstmOptions(
                dim=hidden_size if cell_size is None else cell_size,
                projection_dim=hidden_size,
                n_layers=2 if num_layers is None else num_layers,
                cell_clip=cell_clip,
                proj_clip=projection_clip,
                use_skip_connections=use_skip_connections,
            )
            self._lstm = BiLstm(options, input_dim=input_size, backend=backend)
        else:
            found = find_weights(weights, serialization_dir=serialization_dir, part=LSTM_ONLY)
            self._options = found.options
            given = {**sizes, "cell_clip": cell_clip, "projection_clip": projection_clip}
            _check_given({**given, "use_skip_connections": use_skip_connections}, found.options.lstm, weights)
            self._lstm = _stack_of(found, backend)
            if input_size not in (None, self._lstm.input_dim):
                self._input_map = nn.Linear(input_size, self._lstm.input_dim)
        for parameter in self._lstm.parameters():
            parameter.requires_grad_(trainable)
        self._keeper = StateKeeper(state)

    @overrides
    def get_input_dim(self) -> int:
        return self._lstm.input_dim if self._input_map is None else self._input_map.in_features

    @overrides
    def get_output_dim(self) -> int:
        return 2 * self._lstm.options.projection_dim

    @overrides
    def is_bidirectional(self) -> bool:
        return True

    def forward(self, inputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """
        Encode a padded batch.

        # Parameters

        inputs : `(batch, steps, input_size)`.
        mask : `(batch, steps)`, bool, true for the first steps of each row; None where nothing is padded.

        # Returns

        `(batch, steps, 2 * hidden_size)`: the last layer, forward direction first, zero where the mask is false.

        # Raises

        `ShapeError` where the inputs have another width, or a row has padding in front of or between its steps.
        """
        packing = Packing(lengths_of("elmo_bilm", inputs, self.get_input_dim(), mask), inputs.device)
        batch, steps = inputs.shape[:2]
        begun = self._keeper.begin(self._lstm.zero_state(batch, inputs))
        packed = packing.pack(inputs)
        if self._input_map is not None:
            packed = self._input_map(packed)
        layers, final = self._lstm(packed, packing, begun.select(packing.order))
        self._keeper.end(begun, final, packing.order)
        return packing.unpack(layers[-1], batch, steps)

    @overrides(check_signature=False)
    def reset_states(self, mask: Optional[torch.BoolTensor] = None) -> None:
        """Forget the carried state of all rows; a `mask` of some rows is refused."""
        if mask is not None:
            raise ConfigurationError("elmo_bilm resets the states of all rows or of none: leave the mask out.")
        self._keeper.reset()

    @overrides
    def get_extra_state(self) -> torch.Tensor:
        """The record that makes an archive complete; see `elmo_plugin.formats.record`."""
        if self._options is None or self._weights_name is None:
            return torch.zeros(0, dtype=torch.uint8)  # from scratch: the configuration says it all
        return BiLmRecord(self._options, self._weights_name, tensors="_lstm.", layout=LSTM_ONLY).to_tensor()

    @overrides
    def set_extra_state(self, state: Any) -> None:
        """Refuse the weights of another biLM, also where their shapes happen to fit."""
        if self._options is None or (isinstance(state, torch.Tensor) and not state.numel()):
            return  # from scratch
        saved = BiLmRecord.from_tensor(state, "the saved state of the encoder elmo_bilm").options.lstm
        if saved != self._options.lstm:
            raise ConfigurationError(
                f"elmo_bilm: the saved model has a biLM with the options {saved}, but the weights of this "
                f"configuration ({self._weights_name}) have {self._options.lstm}. Use the weights that it was trained "
                "with."
            )

    def _load_from_state_dict(self, *arguments: Any) -> None:
        super()._load_from_state_dict(*arguments)
        # What was carried belongs to the weights that were there before.
        self._keeper.reset()


def _stack_of(found: WeightSet, backend: str) -> BiLstm:
    lstm = BiLstm(found.options.lstm, backend=backend)
    prefix = "lstm."
    stack = {name[len(prefix) :]: value for name, value in found.tensors.items() if name.startswith(prefix)}
    lstm.load_state_dict({**lstm.state_dict(), **stack})
    return lstm


def _check_given(given: Mapping[str, Any], options: LstmOptions, weights: str) -> None:
    """Refuse a parameter that says something else than the weights; one with its default says nothing."""
    expected = {
        "hidden_size": options.projection_dim,
        "cell_size": options.dim,
        "num_layers": options.n_layers,
        "cell_clip": options.cell_clip,
        "projection_clip": options.proj_clip,
        "use_skip_connections": options.use_skip_connections,
    }
    defaults = inspect.signature(ElmoBiLmEncoder.__init__).parameters
    for name, value in given.items():
        if value not in (defaults[name].default, expected[name]):
            raise ConfigurationError(
                f'"{name}" is {value}, but the biLM of "weights" ({weights}) has {expected[name]}. Leave it out.'
            )
