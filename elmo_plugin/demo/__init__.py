"""The demonstration: sentiment of film reviews, trained without and with ELMo (`python -m elmo_plugin.demo`)."""
