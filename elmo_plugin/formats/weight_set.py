"""A biLM's weights in memory, whatever file they came from or go to."""

from dataclasses import dataclass, replace
from typing import Dict, List, Optional

import torch

from elmo_plugin.engine.characters import NUM_CHARACTER_IDS
from elmo_plugin.engine.errors import WeightFileError
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.engine.tensor_table import Shape, check_tensors, expected_shapes, optional_shapes

_MASK_ROWS = ("token_encoder.char_embedding", "token_encoder.word_embedding")


@dataclass(frozen=True, eq=False)
class WeightSet:
    """
    A biLM's architecture and weights, complete and independent of any file.

    # Parameters

    options : the architecture.
    tensors : the engine's names to float32 tensors, as in `engine.tensor_table`.
    softmax : "weight" `(words, projection)` and "bias" `(words,)` of the language model's output; None without.
    vocabulary : the words, in the order of the rows of the softmax and of a word-level model; None without.
    source : where it came from, for messages.
    """

    options: BiLmOptions
    tensors: Dict[str, torch.Tensor]
    softmax: Optional[Dict[str, torch.Tensor]] = None
    vocabulary: Optional[List[str]] = None
    source: str = "weights in memory"

    def check(self) -> None:
        """
        Refuse what is incomplete, does not fit together or is not a number.

        # Raises

        `WeightFileError`.
        """
        found = {name: tuple(tensor.shape) for name, tensor in self.everything().items()}
        expected = expected_shapes(self.options)
        if self.softmax is not None:
            expected.update(softmax_shapes(self.options, found.get("softmax.weight")))
        check_tensors(found, expected, self.source, optional_shapes(self.options))
        for name, tensor in self.everything().items():
            check_numbers(self.source, name, tensor)
        self._check_mask_row()
        self._check_vocabulary()

    def everything(self) -> Dict[str, torch.Tensor]:
        """The tensors and, as "softmax.weight" and "softmax.bias", the softmax."""
        return {**self.tensors, **{f"softmax.{name}": tensor for name, tensor in (self.softmax or {}).items()}}

    def _check_mask_row(self) -> None:
        for name in _MASK_ROWS:
            if name in self.tensors and bool(self.tensors[name][0].ne(0).any()):
                raise WeightFileError(
                    f"{self.source}: row 0 of {name!r} is not zero; it stands for the mask, which no file stores and "
                    "every reader takes as zero. Check that the padding row was not trained."
                )

    def _check_vocabulary(self) -> None:
        if self.vocabulary is None:
            return
        rows = self.options.n_tokens_vocab
        if self.softmax is not None:
            rows = len(self.softmax["bias"])
        if rows is not None and rows != len(self.vocabulary):
            raise WeightFileError(
                f"{self.source}: the vocabulary has {len(self.vocabulary)} words, expected {rows} as in the options "
                "and the softmax. Give the vocabulary that the biLM was trained with."
            )


def softmax_shapes(options: BiLmOptions, found: Optional[Shape]) -> Dict[str, Shape]:
    """
    Say what shape the softmax must have.

    # Parameters

    options : the architecture; its `n_tokens_vocab` decides the number of words.
    found : the shape of the softmax's weight, which decides it where the options do not.
    """
    words = options.n_tokens_vocab
    if words is None:
        words = found[0] if found else 0
    return {"softmax.weight": (words, options.lstm.projection_dim), "softmax.bias": (words,)}


def check_numbers(source: str, name: str, tensor: torch.Tensor) -> None:
    """
    Refuse a tensor that does not hold finite floating-point numbers.

    # Raises

    `WeightFileError` with the name, the number and the first place of the offenders.
    """
    if not tensor.is_floating_point():
        raise WeightFileError(f"{source}: tensor {name!r} holds {tensor.dtype}, expected floating-point numbers.")
    if bool(torch.isfinite(tensor.sum())):
        return  # one pass and no copy: a sum with an offender in it is never finite
    bad = ~torch.isfinite(tensor)
    if bool(bad.any()):
        place = bad.nonzero()[0].tolist()
        raise WeightFileError(
            f"{source}: tensor {name!r} holds {int(bad.sum())} of {tensor.numel()} values that are NaN or infinite, "
            f"the first at {place}; expected finite weights. Was the training stable, and the file copied completely?"
        )


def inference_options(options: BiLmOptions) -> BiLmOptions:
    """
    Count the characters as every reader of a weight file does: 262, the mask included, where training had 261.

    # Parameters

    options : of a file for training or for inference.
    """
    if options.char_cnn is None:
        return options
    return replace(options, char_cnn=replace(options.char_cnn, n_characters=NUM_CHARACTER_IDS))
