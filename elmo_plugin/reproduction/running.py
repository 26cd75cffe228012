"""Run what is missing."""

from contextlib import suppress
from pathlib import Path
from typing import Callable, Dict, List, Sequence

from elmo_plugin.engine.errors import EngineError
from elmo_plugin.engine.file_lock import FileLock
from elmo_plugin.reproduction import outcome, training
from elmo_plugin.reproduction.cells import CellError
from elmo_plugin.reproduction.jobs import Job
from elmo_plugin.reproduction.outcome import TrainingError
from elmo_plugin.reproduction.training import Run


def run_missing(jobs: Sequence[Job], say: Callable[[str], None]) -> List[str]:
    """
    Train what has no result yet, and score it; what another process is at is left to it, and a failure stops nothing
    else but what needs it. A biLM is tuned again where its weights are gone or damaged and a training needs them.

    # Returns

    What failed.
    """
    needed = {job.needs for job in jobs if job.needs is not None and not outcome.is_evaluated(job.run.folder)}
    broken = {folder for folder in needed if outcome.is_evaluated(folder) and _is_damaged(folder)}
    left = [job for job in jobs if not job.is_done or job.run.folder in broken]
    say(f"{len(jobs)} trainings, {len(jobs) - len(left)} of them done")
    failures: List[str] = []
    elsewhere: List[Path] = []

    def fail(reason: str) -> None:
        failures.append(reason)
        say(f"failed: {reason}")

    for number, job in enumerate(left):
        run = job.run
        needs = None if outcome.is_evaluated(run.folder) else job.needs
        if needs in elsewhere:
            say(f"{run.name}: needs {needs}, which another process is at: run again when that is done")
            continue
        if needs is not None and not outcome.is_finished(needs):
            fail(f"{run.name}: needs {needs}, where no training is finished")
            continue
        lock = FileLock(run.folder.with_name(run.folder.name + ".lock"))
        try:
            run.folder.parent.mkdir(parents=True, exist_ok=True)
            if not lock.acquire(exclusive=True):
                say(f"{run.name}: another process is at it")
                elsewhere.append(run.folder)
                continue
            # By now another process may have finished it, and others read it.
            is_broken = run.folder in broken and _is_damaged(run.folder)
            if is_broken or not outcome.is_evaluated(run.folder):
                ahead = time_left([one.run for one in left[number:]], [one.run for one in jobs])
                say(f"Training {number + 1} of {len(left)}: {run.name}{ahead}\n{run.command_line()}")
                training.train(run, keep_open=lock.descriptors)
            if not job.is_done:
                if not outcome.is_finished(run.folder):
                    raise TrainingError(
                        f"{run.folder} has no {outcome.ARCHIVE}, which {job.scored} need: bring it back, or remove "
                        "the folder, with all that is scored there, to train again."
                    )
                say(f"Scoring {number + 1} of {len(left)}: {run.name}, {job.scored}")
                job.score(lock.descriptors)
        except (TrainingError, EngineError, CellError, OSError) as error:  # what one is too large for may hold another
            fail(f"{run.name}: {error}")
        finally:
            lock.release()
    return failures


def _is_damaged(folder: Path) -> bool:
    """Whether a training is to be repeated; one that cannot be read now is not known to be."""
    try:
        return not outcome.is_whole(folder)
    except OSError:
        return False


def time_left(ahead: Sequence[Run], runs: Sequence[Run]) -> str:
    """
    Say how long trainings will take, one after the other.

    # Parameters

    ahead : the trainings; those that are finished take no time.
    runs : all of the plan. A training takes as long as the finished ones of its experiment, or else as all finished
        ones, in the mean.

    # Returns

    Text to append; empty where nothing is finished yet.
    """
    seconds: Dict[Path, List[float]] = {}
    for run in runs:
        if outcome.is_evaluated(run.folder):
            with suppress(TrainingError):  # whoever shows the table says so
                seconds.setdefault(run.config, []).append(outcome.collect(run.folder).seconds)
    known = [value for values in seconds.values() for value in values]
    if not known:
        return ""
    coming = [seconds.get(run.config, known) for run in ahead if not outcome.is_evaluated(run.folder)]
    total = sum(sum(values) / len(values) for values in coming)
    minutes = round(total / 60)
    if minutes >= 60:
        return f", about {minutes // 60}:{minutes % 60:02} hours left"
    return ", less than two minutes left" if minutes < 2 else f", about {minutes} minutes left"
