from elmo_plugin.vocabularies.elmo_corpus import ElmoCorpusVocabulary  # noqa: F401
