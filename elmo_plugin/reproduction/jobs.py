"""What there is to do for a table: trainings, what is scored behind them, and who lists them."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import List, Mapping, Optional, Sequence, Tuple

from overrides import overrides

from elmo_plugin.reproduction import items, outcome, training
from elmo_plugin.reproduction.training import Run


class Job(ABC):
    """
    A training, and what is scored by its model.

    # Parameters

    run : the training.
    scored : what is scored, for people.
    needs : the folder of another training that must be finished before it is trained; None where it needs none.
    """

    def __init__(self, run: Run, scored: str, needs: Optional[Path] = None) -> None:
        self.run = run
        self.scored = scored
        self.needs = needs

    @property
    def is_done(self) -> bool:
        """Whether the training is finished and all is scored; its weights are not needed any more."""
        return outcome.is_evaluated(self.run.folder) and all(path.exists() for path in self.leaves)

    @property
    @abstractmethod
    def leaves(self) -> Sequence[Path]:
        """The files that hold the scores."""

    @abstractmethod
    def score(self, keep_open: Sequence[int]) -> None:
        """Score what is not yet scored; `keep_open` as in `training.train`."""


class ItemsJob(Job):
    """A training whose model scores the items of a part of the data: "test" or "development"."""

    def __init__(self, run: Run, split: str, needs: Optional[Path] = None) -> None:
        super().__init__(run, f"the {split} items", needs)
        self.split = split

    @property
    @overrides
    def leaves(self) -> Sequence[Path]:
        return [items.path_of(self.run.folder, self.split)]

    @overrides
    def score(self, keep_open: Sequence[int]) -> None:
        training.evaluate(self.run, self.split, keep_open=keep_open)


class TablePlan(ABC):
    """
    What is to be run for a table.

    # Parameters

    variables : of the experiments.
    folder : of all runs, of all tables.
    """

    variables: Mapping[str, str]
    folder: Path

    @abstractmethod
    def experiments(self) -> List[Tuple[str, Path]]:
        """The configurations, each with its task."""

    @abstractmethod
    def jobs(self) -> List[Job]:
        """Each training once, behind those that it needs."""
