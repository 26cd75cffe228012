"""Where the streams of a language model stand: one state for training, one for evaluation."""

from typing import Any, Dict, List, Mapping, Optional

import torch
from torch import nn

from elmo_plugin.engine.lstm import LstmState


class StreamStates(nn.Module):
    """
    Keep the last LSTM state of training and of evaluation apart, and count the steps of training.

    What belongs to training is part of the state dict, so that a resumed training goes on from it. A checkpoint
    without it is accepted: the streams then start at zero.
    """

    def __init__(self) -> None:
        super().__init__()
        #: batches of training that were put
        self.steps = 0
        self._states: Dict[bool, Optional[LstmState]] = {True: None, False: None}

    def get(self, training: bool, rows: int, like: torch.Tensor) -> Optional[LstmState]:
        """Return the state, or `None` at the start of the streams and where the number of rows has changed."""
        state = self._states[training]
        return None if state is None or state.rows != rows else state.to(like)

    def put(self, training: bool, state: LstmState) -> None:
        """Keep the numbers of a state, without its history."""
        self._states[training] = state.detach()
        self.steps += training

    def reset(self, training: bool) -> None:
        """Go back to the start of the streams."""
        self._states[training] = None

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        state = self._states[True]
        if state is not None:
            destination[prefix + "hidden"] = state.hidden
            destination[prefix + "cell"] = state.cell
        if self.steps:
            destination[prefix + "steps"] = torch.tensor(self.steps)

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: List[str],
        unexpected_keys: List[str],
        error_msgs: List[str],
    ) -> None:
        names = [prefix + "hidden", prefix + "cell"]
        if all(name in state_dict for name in names):
            self._states[True] = LstmState(*(state_dict[name].clone() for name in names))
        else:
            self._states[True] = None
        self.steps = int(state_dict.get(prefix + "steps", 0))
