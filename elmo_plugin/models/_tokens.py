"""What a model cannot read: a text without a token, of which a mean would be 0 / 0."""

from typing import Any, Optional, Sequence

from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors
from allennlp.nn.util import get_text_field_mask

#: characters of what is known about an item
_SHOWN = 100


def require_tokens(model: str, metadata: Optional[Sequence[Any]] = None, **texts: TextFieldTensors) -> None:
    """
    Refuse a batch in which a text has no token. What the model says of it would mean nothing, or the whole batch fail.

    On a GPU this waits for what is being computed, once a batch and text.

    # Parameters

    model : its registered name.
    metadata : of each instance; its "id" names the one that is refused.
    texts : by what they are, "premise" for example.

    # Raises

    `ConfigurationError` where a text has no token.
    """
    for name, tokens in texts.items():
        # All indexers pad to the longest text of a batch: where that has none there is nothing to take a mask of.
        is_empty = any(tensor.shape[1] == 0 for one in tokens.values() for tensor in one.values() if tensor.dim() > 1)
        has_tokens = None if is_empty else get_text_field_mask(tokens).any(dim=1)
        if has_tokens is None or not bool(has_tokens.all()):
            row = 0 if has_tokens is None else int((~has_tokens).nonzero()[0])
            about = metadata[row] if metadata else {}
            shown = str(about.get("id") or about)[:_SHOWN]
            raise ConfigurationError(
                f"{model}: a {name} without a token, in item {row + 1} of its batch ({shown}). Expected at least one: "
                "leave the item out."
            )
