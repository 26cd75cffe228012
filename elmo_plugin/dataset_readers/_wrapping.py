"""What readers that read through another one have in common."""

from typing import Any

from allennlp.data import DatasetReader, Instance
from overrides import overrides


class WrappingReader(DatasetReader):
    """
    Reads through another reader.

    # Parameters

    reader : the reader.
    """

    def __init__(self, reader: DatasetReader, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        # Every process reads all of it, and takes its share of what comes out: what AllenNLP does for a plain reader.
        reader._distributed_info = None
        self._reader = reader

    @overrides(check_signature=False)
    def text_to_instance(self, *inputs: Any, **named: Any) -> Instance:
        """Make an instance as the reader does."""
        return self._reader.text_to_instance(*inputs, **named)

    @overrides(check_signature=False)
    def apply_token_indexers(self, instance: Instance) -> None:
        self._reader.apply_token_indexers(instance)
