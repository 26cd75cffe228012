"""The engine's exceptions. Each keeps the default constructor, so that it survives a process border."""


class EngineError(Exception):
    """Base of every error that the engine and the formats raise on purpose."""


class OptionsError(EngineError, ValueError):
    """An options file, or an option given in code, asks for something that does not exist or does not fit."""


class WeightFileError(EngineError, ValueError):
    """The tensors of a weight file do not belong to the model that should hold them."""


class ShapeError(EngineError, ValueError):
    """A tensor given to the engine has the wrong shape, dtype or layout."""


class FormatError(EngineError, ValueError):
    """A file is not in the format that it should be in, or is damaged."""


class BackendUnavailableError(EngineError, RuntimeError):
    """A backend was asked for by name and cannot run on this machine."""


class DeviceMemoryError(EngineError, RuntimeError):
    """The memory of a GPU does not suffice for what was asked of it."""
