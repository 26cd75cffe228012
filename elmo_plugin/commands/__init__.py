"""Sub-commands of the `allennlp` program."""

#: the exit code of a program that was interrupted, as shells have it
INTERRUPTED = 130
