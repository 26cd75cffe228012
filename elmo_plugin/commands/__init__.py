"""Sub-commands of the `allennlp` program."""
