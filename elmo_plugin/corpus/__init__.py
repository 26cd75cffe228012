"""Text for the language model: shards, vocabulary, word table, row streams. No AllenNLP here."""
