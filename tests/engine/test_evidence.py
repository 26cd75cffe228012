import copy
import pickle

import pytest
import torch

from elmo_plugin.engine.evidence import Derived


class Counter:
    def __init__(self):
        self.made = 0

    def __call__(self):
        self.made += 1
        return self.made


CHANGES = {
    "written": lambda tensors: [tensors[0].add_(1), tensors[1]],
    "written through .data": lambda tensors: [tensors[0].data.mul_(3)] and tensors,
    "another tensor": lambda tensors: [tensors[0].clone(), tensors[1]],
    "another dtype": lambda tensors: [tensors[0], tensors[1].double()],
    "another shape": lambda tensors: [tensors[0].t(), tensors[1]],
    "one less": lambda tensors: tensors[:1],
}


def some_tensors():
    return [torch.arange(1.0, 13.0).view(3, 4), torch.ones(2)]


@pytest.mark.parametrize("change", CHANGES)
def test_it_is_made_again_when_a_tensor_has_changed(change):
    derived, make, tensors = Derived(), Counter(), some_tensors()
    assert [derived.get(make, tensors) for _ in range(3)] == [1, 1, 1]

    changed = CHANGES[change](tensors)

    assert [derived.get(make, changed) for _ in range(2)] == [2, 2]


def test_it_is_made_again_for_other_settings():
    derived, make, tensors = Derived(), Counter(), some_tensors()

    assert [derived.get(make, tensors, setting) for setting in ("a", "a", "b")] == [1, 1, 2]


def test_nothing_is_held_of_a_failure():
    derived, tensors = Derived(), some_tensors()

    def fail():
        raise MemoryError

    with pytest.raises(MemoryError):
        derived.get(fail, tensors)
    assert derived.get(Counter(), tensors) == 1


def test_tensors_of_inference_mode():
    derived, make = Derived(), Counter()
    with torch.inference_mode():
        tensors = some_tensors()
        derived.get(make, tensors)

    assert derived.get(make, tensors) == 1


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies_are_empty(copied):
    derived, tensors = Derived(), some_tensors()
    derived.get(lambda: object(), tensors)

    assert copied(derived)._held is None
    assert derived._held is not None
