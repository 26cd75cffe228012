"""What a model cannot read: a text without a token, of which a mean would be 0 / 0."""

from typing import Any, Optional, Sequence

from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors
from allennlp.nn.util import get_text_field_mask


def require_tokens(model: str, metadata: Optional[Sequence[Any]] = None, **texts: TextFieldTensors) -> None:
    """
    Refuse a batch in which a text has no token: it would get a label that means nothing, or none of the others one.

    # Parameters

    model : its registered name.
    metadata : of each instance, to name the one.
    texts : by what they are, "premise" for example.

    # Raises

    `ConfigurationError`
    """
    for name, tokens in texts.items():
        # All indexers pad to the longest text of a batch: where that has none there is nothing to take a mask of.
        is_empty = any(tensor.shape[1] == 0 for one in tokens.values() for tensor in one.values() if tensor.dim() > 1)
        has_tokens = None if is_empty else get_text_field_mask(tokens).any(dim=1)
        if has_tokens is None or not bool(has_tokens.all()):
            row = 0 if has_tokens is None else int((~has_tokens).nonzero()[0])
            where = f", in {metadata[row]}" if metadata else f", in item {row + 1} of its batch"
            raise ConfigurationError(
                f"{model}: a {name} without a token{where}. Expected at least one: leave the item out."
            )
