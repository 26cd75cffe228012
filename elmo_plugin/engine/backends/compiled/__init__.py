"""The CPU backend with the steps of a layer in one compiled call, where they were built with the package."""

from elmo_plugin.engine.backends.compiled.backend import CompiledBackend

__all__ = ["CompiledBackend"]
