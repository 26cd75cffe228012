from elmo_plugin.checkpointers.elmo import ElmoCheckpointer  # noqa: F401
