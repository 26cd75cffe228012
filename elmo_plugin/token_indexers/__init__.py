"""Token indexers: words to the ids that a biLM reads."""
