"""Token embedders: ids to ELMo vectors."""
