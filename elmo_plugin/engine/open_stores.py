"""The layer caches that this process has open: each folder once, and none while the process forks."""

import os
import threading
import weakref
from pathlib import Path
from typing import List

from elmo_plugin.engine.layer_store import MARKER, LayerStore

_stores: "weakref.WeakValueDictionary[str, LayerStore]" = weakref.WeakValueDictionary()
_lock = threading.RLock()


def open_store(folder: Path) -> LayerStore:
    """
    Open the folder of a layer cache, or give the store that this process has open there.

    LMDB must not be opened twice in one process.

    # Raises

    As `LayerStore`.
    """
    name = os.path.realpath(str(folder.expanduser()))
    with _lock:
        store = _stores.get(name)
        if store is None or not (store.folder / MARKER).exists():
            store = LayerStore(Path(name))
            _stores[name] = store
        return store


_paused: List[LayerStore] = []


def _before_fork() -> None:
    """An environment of LMDB must not reach a child process: close all, and let nobody open them meanwhile."""
    _lock.acquire()
    _paused.extend(_stores.values())
    for store in _paused:
        store.lock.acquire()
        store.close()


def _after_fork() -> None:
    while _paused:
        _paused.pop().lock.release()
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
