"""What an instance says, whatever it is indexed by."""

import json
from typing import Any

from allennlp.data import Instance
from allennlp.data.fields import LabelField, SequenceLabelField, TextField


def content_of(instance: Instance) -> bytes:
    """Write the words and labels of an instance down: equal for instances that say the same."""
    return b"".join(
        json.dumps([name, _content(field)]).encode()
        for name, field in sorted(instance.fields.items())
        if isinstance(field, (TextField, LabelField, SequenceLabelField))
    )


def _content(field: Any) -> Any:
    if isinstance(field, TextField):
        return [token.text for token in field.tokens]
    return field.label if isinstance(field, LabelField) else list(field.labels)
