"""
How fast the engine is, beside others that compute the same vectors: `allennlp elmo-benchmark`.

    python -m elmo_plugin.benchmark --quick

Without AllenNLP on the machine this works too; the engine is then compared with `transcription`, a plain loop over
steps that does what AllenNLP does.
"""
