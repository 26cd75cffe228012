"""What there is for a table: data and finished trainings."""

from pathlib import Path
from typing import Dict, List

from elmo_plugin.reproduction.data_sets import Needs
from elmo_plugin.reproduction.jobs import TablePlan


def survey(plan: TablePlan, needs: Needs) -> List[str]:
    """
    Set the experiments of a table by task, for people: whether all is there, what is fetched, which seeds are done.

    # Parameters

    plan : of all seeds that are there.
    needs : of its experiments.

    # Raises

    `CellError` where an experiment cannot be evaluated.
    """
    done: Dict[Path, Dict[bool, List[int]]] = {}
    for job in plan.jobs():
        if job.is_done:
            done.setdefault(job.run.config, {}).setdefault(job.run.is_tuned, []).append(job.run.seed)
    by_task: Dict[str, List[Path]] = {}
    for task, config in plan.experiments():
        by_task.setdefault(task, []).append(config)
    lines = []
    for task, configs in by_task.items():
        problems = needs.problems.get(task, ())
        absent = [one for one in problems if one.is_absent]
        kinds = ", ".join(dict.fromkeys(one.kind for one in absent or problems))
        state = f"{'missing' if absent else 'to correct'}: {kinds}" if problems else "all is there"
        lines.append(f"{task}: {state}")
        lines += [f"  fetched when a training needs it: {address}" for address in needs.fetched.get(task, ())]
        lines += [f"  {config.as_posix()}{_done(done.get(config, {}))}" for config in configs]
    return lines


def _done(seeds: Dict[bool, List[int]]) -> str:
    """The seeds, those with a tuned biLM by themselves: an experiment may be trained with both."""
    listed = [
        f"{', '.join(map(str, sorted(of_bilm)))}{' with the tuned biLM' if is_tuned else ''}"
        for is_tuned, of_bilm in sorted(seeds.items())
    ]
    count = sum(map(len, seeds.values()))
    return f" (done: seed{'' if count == 1 else 's'} {'; '.join(listed)})" if listed else ""
