"""
Write TensorFlow checkpoints without TensorFlow, from the description of the format alone: nothing here uses the code
under test. TensorFlow 1.15 reads what this writes, which was tried by hand; see `test_bundle.py`.
"""

import json
import struct
from pathlib import Path
from typing import Any, Dict, List, Mapping, Tuple

import numpy as np

from tests import tiny

_DTYPES = {"float32": 1, "float64": 2, "int32": 3, "int64": 9, "float16": 19}


def crc32c(data: bytes) -> int:
    """The checksum bit by bit, from its definition."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(number: int) -> bytes:
    result = b""
    while number >= 0x80:
        result += bytes([number & 0x7F | 0x80])
        number >>= 7
    return result + bytes([number])


def number_field(field: int, number: int) -> bytes:
    return varint(field << 3) + varint(number)


def bytes_field(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


def snappy(data: bytes) -> bytes:
    """Compress a little: repetitions of four bytes or more that begin right behind themselves are copied."""
    result, place = varint(len(data)), 0
    while place < len(data):
        repeated = next((n for n in range(60, 3, -1) if data[place - n : place] == data[place : place + n]), 0)
        if repeated and place >= repeated:
            result += bytes([(repeated - 1) << 2 | 2]) + struct.pack("<H", repeated)
            place += repeated
        else:
            result += bytes([0]) + data[place : place + 1]
            place += 1
    return result


def table(pairs: Mapping[bytes, bytes], entries_per_block: int = 3, compressed: bool = False) -> bytes:
    """A sorted table of LevelDB with blocks of so many entries, every second key stored whole."""
    content, index = b"", []
    keys = sorted(pairs)
    for start in range(0, len(keys), entries_per_block):
        chosen = keys[start : start + entries_per_block]
        where, content = _append(content, _block([(key, pairs[key]) for key in chosen]), compressed)
        index.append((chosen[-1], where))
    metaindex, content = _append(content, _block([]), compressed)
    where, content = _append(content, _block(index), compressed)
    return content + (metaindex + where).ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


def _append(content: bytes, block: bytes, compressed: bool) -> Tuple[bytes, bytes]:
    body = (snappy(block) if compressed else block) + bytes([compressed])
    where = varint(len(content)) + varint(len(body) - 1)
    return where, content + body + struct.pack("<I", masked(body))


def _block(pairs: List[Tuple[bytes, bytes]]) -> bytes:
    content, restarts, last = b"", [], b""
    for position, (key, value) in enumerate(pairs):
        shared = 0
        if position % 2 == 0:
            restarts.append(len(content))
        else:
            while shared < min(len(key), len(last)) and key[shared] == last[shared]:
                shared += 1
        content += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        last = key
    restarts = restarts or [0]
    return content + struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts))


def write_bundle(prefix: Path, tensors: Mapping[str, np.ndarray], big_endian: bool = False, **of_table: Any) -> Path:
    """
    Write `prefix.index` and `prefix.data-00000-of-00001`.

    # Parameters

    prefix : path without suffix; its folder is made.
    tensors : name to array.
    big_endian : order of bytes in the numbers.
    of_table : arguments of `table`.

    # Returns

    The index file.
    """
    prefix.parent.mkdir(parents=True, exist_ok=True)
    version = bytes_field(3, number_field(1, 1))
    pairs, data = {b"": number_field(1, 1) + (number_field(2, 1) if big_endian else b"") + version}, b""
    for name, array in sorted(tensors.items()):
        content = array.astype(array.dtype.newbyteorder(">" if big_endian else "<")).tobytes()
        shape = b"".join(bytes_field(2, number_field(1, size)) for size in array.shape)
        entry = number_field(1, _DTYPES[array.dtype.name]) + bytes_field(2, shape)
        entry += number_field(4, len(data)) + number_field(5, len(content))
        pairs[name.encode()] = entry + varint(6 << 3 | 5) + struct.pack("<I", masked(content))
        data += content
    prefix.with_name(prefix.name + ".data-00000-of-00001").write_bytes(data)
    index = prefix.with_name(prefix.name + ".index")
    index.write_bytes(table(pairs, **of_table))
    return index


def variables(content: Mapping[str, Any], seed: int = 0, words: int = 0) -> Dict[str, np.ndarray]:
    """
    Draw the variables of a training of bilm-tf: those of `tiny.datasets`, a softmax, and what the training adds.

    # Parameters

    content : of the options.json.
    seed : of the weights.
    words : words of the softmax; 0 for none.
    """
    found = {f"lm/{_variable(name)}": array for name, array in tiny.datasets(content, seed).items()}
    random = np.random.RandomState(seed + 1)
    if words:
        found["lm/softmax/W"] = random.standard_normal((words, content["lstm"]["projection_dim"])).astype("float32")
        found["lm/softmax/b"] = random.standard_normal(words).astype("float32")
    found.update({f"{name}/Adagrad": np.abs(array) for name, array in found.items()})
    return {**found, "global_step": np.array(7, "int64"), "train_perplexity": np.array(3, "float32")}


def hub_variables(content: Mapping[str, Any], seed: int = 0) -> Dict[str, np.ndarray]:
    """The variables of an ELMo module of TensorFlow Hub, weights as in `tiny.datasets`."""
    found = {}
    for name, array in tiny.datasets(content, seed).items():
        name = name.replace("/LSTMCell/W_0", "/rnn/lstm_cell/kernel").replace("/LSTMCell/B", "/rnn/lstm_cell/bias")
        found["bilm/" + name.replace("/LSTMCell/W_P_0", "/rnn/lstm_cell/projection/kernel")] = array
    return {**found, "aggregation/weights": np.zeros(3, "float32"), "aggregation/scaling": np.array(1, "float32")}


def write_checkpoint(folder: Path, seed: int = 0, softmax: int = 0, step: int = 0, **changes: Any) -> Path:
    """
    Write what a training of bilm-tf leaves: options.json, `checkpoint`, and the two files of the checkpoint.

    # Parameters

    folder : is made.
    seed : of the weights, which are those of `tiny.write` with the same seed.
    softmax : words of the softmax; 0 for none.
    step : of the training, part of the file's name.
    changes : arguments of `tiny.options`.

    # Returns

    The index file.
    """
    content = tiny.options(**changes)
    index = write_bundle(folder / f"model.ckpt-{step}", variables(content, seed, softmax))
    if "char_cnn" in content:
        content["char_cnn"]["n_characters"] = 261
    training = {"n_tokens_vocab": softmax} if softmax else {}
    (folder / "options.json").write_text(json.dumps({**content, **training, "bidirectional": True, "dropout": 0.1}))
    (folder / "checkpoint").write_text(f'model_checkpoint_path: "/gone/model.ckpt-{step}"\n')
    return index


def _variable(dataset: str) -> str:
    """bilm-tf's name in training for a dataset of its dump."""
    name = dataset.replace("/RNN/", "/rnn/").replace("MultiRNNCell/Cell", "multi_rnn_cell/cell_")
    name = name.replace("LSTMCell/W_0", "lstm_cell/kernel").replace("LSTMCell/B", "lstm_cell/bias")
    return name.replace("LSTMCell/W_P_0", "lstm_cell/projection/kernel")
