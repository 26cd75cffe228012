"""Encoders: the biLM's LSTM stack over any vectors, and ELMo at the output of a task encoder."""
