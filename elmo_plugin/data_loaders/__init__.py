from elmo_plugin.data_loaders.elmo_corpus import ElmoCorpusLoader  # noqa: F401
