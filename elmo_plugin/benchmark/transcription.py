"""
A character biLM as AllenNLP 2.10.1 computes it, in plain PyTorch: the stand-in where AllenNLP is not installed.

Written from the equations and from how AllenNLP spends its time: every place of the padded batch goes through the
character CNN; each direction of each layer is a loop over time steps with two products and about two dozen small
operations in each; rows that have ended drop out of the step. It shares no code with the engine but the ids of the
boundaries, so that it serves as the truth in float64 too. A test compares it with AllenNLP.
"""

from typing import Dict, List, Mapping, Optional, Tuple

import torch
from torch.nn import functional as F

from elmo_plugin.engine.characters import BEGIN_SENTENCE, END_SENTENCE, boundary_ids
from elmo_plugin.engine.options import BiLmOptions

_ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh}


class Transcription:
    """
    A biLM without state between calls.

    # Parameters

    options : the architecture, with a character CNN.
    tensors : the weights under the engine's names.
    dtype, device : what to compute in, and where.
    """

    def __init__(
        self, options: BiLmOptions, tensors: Mapping[str, torch.Tensor], dtype: torch.dtype, device: torch.device
    ) -> None:
        assert options.char_cnn is not None, options
        self._cnn = options.char_cnn
        self._lstm = options.lstm
        self._tensors: Dict[str, torch.Tensor] = {name: value.to(device, dtype) for name, value in tensors.items()}
        # AllenNLP keeps the two parts of a highway layer in one product
        for index in range(self._cnn.n_highway):
            for kind in ("weight", "bias"):
                prefix = f"token_encoder.highways.{index}."
                parts = [self._tensors[f"{prefix}{part}_{kind}"] for part in ("candidate", "gate")]
                self._tensors[f"{prefix}{kind}"] = torch.cat(parts)

    @torch.no_grad()
    def layers(self, ids: torch.Tensor) -> torch.Tensor:
        """
        Return the layers without sentence boundaries.

        # Parameters

        ids : `(batch, words, characters)`, int64, 0 for padding.

        # Returns

        `(num_layers, batch, words, 2 * projection)`, zero in the padding.
        """
        bounded, lengths = with_boundaries(ids)
        sorted_lengths, order = lengths.sort(descending=True, stable=True)
        back = torch.argsort(order)
        inside = torch.arange(bounded.shape[1], device=ids.device) < lengths[:, None]
        words = self._words(bounded)
        result = [torch.cat([words, words], dim=2) * inside[:, :, None]]
        # rows that are running at each step
        running = (sorted_lengths[:, None] > torch.arange(bounded.shape[1], device=ids.device)).sum(dim=0).tolist()
        outputs = {"forward": words[order], "backward": words[order]}
        for layer in range(self._lstm.n_layers):
            for direction, inputs in list(outputs.items()):
                produced = self._run(f"lstm.{direction}_layers.{layer}.", inputs, running, direction == "backward")
                skip = self._lstm.use_skip_connections and layer > 0
                outputs[direction] = produced + inputs if skip else produced
            both = torch.cat([outputs["forward"], outputs["backward"]], dim=2)
            result.append(both[back] * inside[:, :, None])
        return without_boundaries(torch.stack(result), lengths)

    def _words(self, ids: torch.Tensor) -> torch.Tensor:
        """Character CNN over every place, padding included: `(batch, steps, projection)`."""
        embedded = F.embedding(ids.reshape(-1, ids.shape[2]), self._of("char_embedding")).transpose(1, 2)
        activation = _ACTIVATIONS[self._cnn.activation]
        features: List[torch.Tensor] = []
        for index in range(len(self._cnn.filters)):
            convolution = f"convolutions.{index}."
            convolved = F.conv1d(embedded, self._of(convolution + "weight"), self._of(convolution + "bias"))
            features.append(activation(convolved.max(dim=2).values))
        vectors = torch.cat(features, dim=1)  # (batch * steps, filters)
        for index in range(self._cnn.n_highway):
            both = F.linear(vectors, self._of(f"highways.{index}.weight"), self._of(f"highways.{index}.bias"))
            candidate, gate = both.chunk(2, dim=1)
            gate = torch.sigmoid(gate)
            vectors = gate * torch.relu(candidate) + (1 - gate) * vectors
        if "token_encoder.projection.weight" in self._tensors:
            vectors = F.linear(vectors, self._of("projection.weight"), self._of("projection.bias"))
        return vectors.view(ids.shape[0], ids.shape[1], -1)

    def _of(self, name: str) -> torch.Tensor:
        return self._tensors["token_encoder." + name]

    def _run(self, prefix: str, inputs: torch.Tensor, running: List[int], reverse: bool) -> torch.Tensor:
        """One layer in one direction; rows by falling length: `(batch, steps, projection)`."""
        batch, steps = inputs.shape[:2]
        hidden = inputs.new_zeros(batch, self._lstm.projection_dim)
        memory = inputs.new_zeros(batch, self._lstm.dim)
        outputs = inputs.new_zeros(batch, steps, self._lstm.projection_dim)
        for step in reversed(range(steps)) if reverse else range(steps):
            rows = running[step]
            new_hidden, new_memory = self._step(prefix, inputs[:rows, step], hidden[:rows], memory[:rows])
            # States are replaced, not changed, as autograd would need it.
            hidden, memory = hidden.clone(), memory.clone()
            hidden[:rows], memory[:rows] = new_hidden, new_memory
            outputs[:rows, step] = new_hidden
        return outputs

    def _step(
        self, prefix: str, inputs: torch.Tensor, hidden: torch.Tensor, memory: torch.Tensor
    ) -> Tuple[torch.Tensor, torch.Tensor]:
        of_inputs = F.linear(inputs, self._tensors[prefix + "input_weight"])
        of_hidden = F.linear(hidden, self._tensors[prefix + "recurrent_weight"], self._tensors[prefix + "bias"])
        parts = list(zip(of_inputs.chunk(4, dim=1), of_hidden.chunk(4, dim=1)))
        i, f, o = (torch.sigmoid(parts[gate][0] + parts[gate][1]) for gate in (0, 1, 3))
        g = torch.tanh(parts[2][0] + parts[2][1])
        memory = _clip(i * g + f * memory, self._lstm.cell_clip)
        output = o * torch.tanh(memory)
        if self._lstm.has_projection:
            output = _clip(F.linear(output, self._tensors[prefix + "projection_weight"]), self._lstm.proj_clip)
        return output, memory


def _clip(values: torch.Tensor, bound: Optional[float]) -> torch.Tensor:
    return values if bound is None else torch.clamp(values, -bound, bound)


def with_boundaries(ids: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """
    Put the begin and the end of a sentence around the words.

    # Parameters

    ids : `(batch, words, characters)`, 0 for padding, which comes last.

    # Returns

    `(batch, words + 2, characters)`, and the lengths with boundaries, `(batch,)`.
    """
    batch, words, characters = ids.shape
    lengths = (ids > 0).any(dim=2).sum(dim=1)
    bounded = ids.new_zeros(batch, words + 2, characters)
    bounded[:, 1:-1] = ids
    begin, end = (torch.from_numpy(boundary_ids(kind, characters)) for kind in (BEGIN_SENTENCE, END_SENTENCE))
    bounded[:, 0] = begin.to(ids.device)
    bounded[torch.arange(batch, device=ids.device), lengths + 1] = end.to(ids.device)
    return bounded, lengths + 2


def without_boundaries(layers: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Take the boundaries off `(num_layers, batch, steps, dim)`; `lengths` counts them. Padding becomes zero."""
    inner = layers[:, :, 1:-1]
    inside = torch.arange(inner.shape[2], device=layers.device) < (lengths - 2)[:, None]
    return inner * inside[None, :, :, None]
