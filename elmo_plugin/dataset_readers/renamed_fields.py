"""The fields of any data set under the names that a model takes."""

from typing import Any, Dict, Iterable

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance
from allennlp.data.fields import ListField, TextField
from overrides import overrides

from elmo_plugin.dataset_readers._wrapping import WrappingReader


@DatasetReader.register("renamed_fields")
class RenamedFieldsReader(WrappingReader):
    """
    Read what another reader reads, take some of its fields, and give them other names.

    A model takes fields by their names: with `{"words": "tokens", "pos_tags": "tags"}` a reader of dependency trees
    feeds a tagger. Registered as "renamed_fields".

    # Parameters

    reader : the reader.
    names : its fields to the names that the model takes; fields that are not named are left out, but for "metadata".
        All that are text must be named: the reader gives its token indexers to each of them.
    """

    def __init__(self, reader: DatasetReader, names: Dict[str, str], **kwargs: Any) -> None:
        if not names or len(set(names.values())) < len(names):
            raise ConfigurationError(f'"names" is {names}, expected fields to names that are all different.')
        super().__init__(reader, **kwargs)
        self._names = names

    @overrides(check_signature=False)
    def _read(self, file_path: str) -> Iterable[Instance]:
        # Not `read`, which would apply the token indexers: behind a worker process that is done on the other side.
        for instance in self._reader._read(file_path):
            yield self._renamed(instance)

    @overrides(check_signature=False)
    def text_to_instance(self, *inputs: Any, **named: Any) -> Instance:
        """Make an instance as the reader does, with the other names."""
        return self._renamed(self._reader.text_to_instance(*inputs, **named))

    @overrides(check_signature=False)
    def apply_token_indexers(self, instance: Instance) -> None:
        old = {name: before for before, name in self._names.items()}
        self._reader.apply_token_indexers(Instance({old.get(name, name): field for name, field in instance.items()}))

    def _renamed(self, instance: Instance) -> Instance:
        missing = sorted(set(self._names) - set(instance.fields))
        if missing:
            raise ConfigurationError(
                f'"names" has {missing}, but the reader gives the fields {sorted(instance.fields)}.'
            )
        unnamed = sorted(
            name
            for name, field in instance.items()
            if isinstance(field, (TextField, ListField)) and name not in self._names
        )
        if unnamed:
            raise ConfigurationError(f'"names" leaves out {unnamed}, expected a name for every field that is text.')
        fields = {name: instance.fields[before] for before, name in self._names.items()}
        if "metadata" in instance.fields:
            fields.setdefault("metadata", instance.fields["metadata"])
        return Instance(fields)
