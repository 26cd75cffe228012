"""The layers of a batch's sentences between disk and model, and the form of one sentence on disk."""

import struct
import zlib
from typing import Dict, List, Optional, Sequence, Union

import numpy as np
import torch

from elmo_plugin.engine.bilm import BiLm, PackedLayers
from elmo_plugin.engine.packing import Packing

# Checksum of key, header and layers; version; steps; width of a step.
_HEADER = struct.Struct("<IIII")
_VERSION = 1

# Bytes are carried through NumPy, which does not know every dtype of PyTorch, as whole numbers.
_CARRIERS: Dict[int, torch.dtype] = {2: torch.int16, 4: torch.int32, 8: torch.int64}


class LayerTable:
    """
    Room for the layers of sentences with their boundaries, one behind the other, on the CPU.

    The token layer is kept once: in the output its vector stands twice, side by side.

    # Parameters

    bilm : whose layers they are.
    steps : words of each sentence, boundaries included.
    dtype : how they are stored; None for the dtype of the weights.
    """

    def __init__(self, bilm: BiLm, steps: Sequence[int], dtype: Optional[torch.dtype]) -> None:
        self._weights_dtype = bilm.lstm.zero_state(0, bilm.token_encoder.boundaries).hidden.dtype
        self.dtype = dtype or self._weights_dtype
        self._begins = np.concatenate([[0], np.cumsum(steps)]).astype(np.int64)
        half = bilm.options.lstm.projection_dim
        self._widths = [half] + [2 * half] * (bilm.num_layers - 1)
        self._layers = [torch.empty((int(self._begins[-1]), width), dtype=self.dtype) for width in self._widths]
        carrier = _CARRIERS[self._layers[0].element_size()]
        self._bytes = [layer.view(carrier).numpy() for layer in self._layers]

    def read(self, place: int, key: bytes, value: memoryview) -> bool:
        """
        Take a sentence from what is stored.

        # Returns

        Whether it is what was stored under this key; the sentence's place holds nothing of use otherwise.
        """
        begin, end = self._begins[place], self._begins[place + 1]
        itemsize = self._bytes[0].itemsize
        expected = (_VERSION, int(end - begin), sum(self._widths))
        if len(value) != _HEADER.size + expected[1] * expected[2] * itemsize:
            return False
        checksum, *found = _HEADER.unpack_from(value)
        if tuple(found) != expected or checksum != _checksum(key, value[4:]):
            return False
        offset = _HEADER.size
        for target, width in zip(self._bytes, self._widths):
            source = np.frombuffer(value, dtype=target.dtype, count=expected[1] * width, offset=offset)
            target[begin:end] = source.reshape(expected[1], width)
            offset += source.nbytes
        return True

    def entry(self, place: int, key: bytes) -> bytes:
        """A sentence in the form to be stored."""
        begin, end = self._begins[place], self._begins[place + 1]
        header = _HEADER.pack(0, _VERSION, int(end - begin), sum(self._widths))
        body = b"".join([header[4:]] + [layer[begin:end].tobytes() for layer in self._bytes])
        return struct.pack("<I", _checksum(key, body)) + body

    def fill(self, places: Sequence[int], computed: PackedLayers) -> bool:
        """
        Take sentences from what the biLM computed.

        # Parameters

        places : the sentence of each row of `computed`.

        # Returns

        Whether the dtype can hold all of it.
        """
        row, step = computed.packing.places
        order = torch.argsort(row * (computed.packing.steps + 1) + step)
        starts = np.concatenate([[0], np.cumsum((computed.lengths + 2).tolist())])
        for target, layer, width in zip(self._layers, computed.layers, self._widths):
            source = layer[order, :width].to(self.dtype).cpu()
            if self.dtype != layer.dtype and not bool(torch.isfinite(source).all()):
                return False
            for number, place in enumerate(places):
                rows = source[starts[number] : starts[number + 1]]
                target[self._begins[place] : self._begins[place + 1]] = rows
        return True

    def packed(self, packing: Packing, place_of_row: np.ndarray, device: torch.device) -> List[torch.Tensor]:
        """
        Give the layers out as the biLM does.

        # Parameters

        packing : of the batch.
        place_of_row : the sentence of each of its rows.
        device : where the biLM is.

        # Returns

        `(tokens, 2 * projection)` each, in the dtype of the biLM.
        """
        row, step = packing.places
        begins = torch.from_numpy(self._begins[place_of_row]).to(device)
        index = begins[row] + step
        layers = [layer.to(device)[index].to(self._weights_dtype) for layer in self._layers]
        return [torch.cat([layers[0], layers[0]], dim=1)] + layers[1:]


def _checksum(key: bytes, body: Union[bytes, memoryview]) -> int:
    return zlib.crc32(body, zlib.crc32(key))
