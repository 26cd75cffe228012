import argparse

import pytest
import torch

from elmo_plugin.benchmark import choice
from elmo_plugin.benchmark.peers import PeerUnavailableError, Setting
from elmo_plugin.benchmark.sizes import random_model

SETTING = Setting(torch.device("cpu"), threads=1)


def arguments(**changes):
    return argparse.Namespace(**{"peers": None, "precisions": ["float32"], "quick": False, "bilm_tf": None, **changes})


def names(monkeypatch, has_allennlp=True, **changes):
    monkeypatch.setattr(choice, "_has_allennlp", lambda: has_allennlp)
    return [name for name, _ in choice.chosen(arguments(**changes))]


def test_allennlp_first_and_no_stand_ins(monkeypatch):
    found = names(monkeypatch)

    assert found[0] == "allennlp"
    assert {"cpu", "torch-lstm"} <= set(found)
    assert not {"reference", "transcription", "bilm-tf"} & set(found)


def test_transcription_in_allennlps_place(monkeypatch):
    found = names(monkeypatch, has_allennlp=False)

    assert found[:2] == ["allennlp", "transcription"]  # the first will say why it is not there


def test_quick_form_leaves_nothing_out(monkeypatch):
    assert {"reference", "transcription", "allennlp", "cpu"} <= set(names(monkeypatch, quick=True))


def test_bilm_tf_with_its_interpreter(monkeypatch):
    assert "bilm-tf" in names(monkeypatch, bilm_tf="python3.7")


def test_ours_in_every_precision_and_others_in_one(monkeypatch):
    found = list(choice.chosen(arguments(peers=["cpu", "transcription"], precisions=["float32", "float64"])))

    assert found == [("transcription", "float32"), ("cpu", "float32"), ("cpu", "float64")]


def test_absent_by_default(monkeypatch):
    monkeypatch.setattr(choice, "_default_names", lambda arguments: ["cpu", "bilm-tf"])

    peers, absent = choice.build(random_model("tiny", 0), SETTING, arguments())

    assert [peer.name for peer in peers] == ["cpu"]
    assert "--bilm-tf" in absent["bilm-tf"]


def test_absent_in_one_precision_alone(monkeypatch):
    monkeypatch.setattr(choice, "_default_names", lambda arguments: ["reference"])

    peers, absent = choice.build(random_model("tiny", 0), SETTING, arguments(precisions=["float32", "int8"]))

    assert [peer.name for peer in peers] == ["reference"]
    assert list(absent) == ["reference int8"] and "precision 'int8' cannot be had" in absent["reference int8"]


def test_asked_for_by_name_it_must_run():
    with pytest.raises(PeerUnavailableError, match="bilm-tf was asked for: .*--bilm-tf"):
        choice.build(random_model("tiny", 0), SETTING, arguments(peers=["cpu", "bilm-tf"]))
