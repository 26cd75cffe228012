from elmo_plugin.dataset_readers.elmo_corpus import ElmoCorpusReader  # noqa: F401
