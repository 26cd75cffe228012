"""Which peers take part."""

import argparse
from typing import Dict, Iterator, List, Tuple

from elmo_plugin.benchmark.peers import BASELINES, Peer, PeerUnavailableError, Setting, entries
from elmo_plugin.benchmark.peers.allennlp import import_elmo
from elmo_plugin.benchmark.sizes import Model

# Backend of the engine that is there to be read: as slow as AllenNLP
_SLOW = "reference"


def chosen(arguments: argparse.Namespace) -> Iterator[Tuple[str, str]]:
    """
    Name and precision of each peer, in the order in which they take turns: what the others are compared with first.

    # Parameters

    arguments : of `arguments.add_arguments`. The peers that are named there; else all, without the slow stand-ins
        unless it is the quick form, which is there to compare vectors.
    """
    names = arguments.peers or _default_names(arguments)
    for name in sorted(names, key=lambda name: name not in BASELINES):
        for precision in arguments.precisions if entries()[name].is_ours else ["float32"]:
            yield name, precision


def label(name: str, precision: str) -> str:
    """What to call a peer in a precision, since it may run in some alone."""
    return name if precision == "float32" else f"{name} {precision}"


def _default_names(arguments: argparse.Namespace) -> List[str]:
    without = set()
    if arguments.bilm_tf is None:
        without.add("bilm-tf")
    if not arguments.quick:
        without.add(_SLOW)
        if _has_allennlp():
            without.add("transcription")
    return [name for name in entries() if name not in without]


def _has_allennlp() -> bool:
    try:
        import_elmo()
    except PeerUnavailableError:
        return False
    return True


def build(model: Model, setting: Setting, arguments: argparse.Namespace) -> Tuple[List[Peer], Dict[str, str]]:
    """
    Make the chosen peers.

    # Returns

    Those that run here, and why each of the others does not, by its `label`.

    # Raises

    `PeerUnavailableError` where one that was asked for by name does not run here.
    """
    built: List[Peer] = []
    absent: Dict[str, str] = {}
    for name, precision in chosen(arguments):
        try:
            built.append(entries()[name].build(model, setting, precision))
        except PeerUnavailableError as error:
            if name in (arguments.peers or ()):
                raise PeerUnavailableError(f"{name} was asked for: {error}") from error
            absent[label(name, precision)] = str(error)
    return built, absent
