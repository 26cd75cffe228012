from dataclasses import replace

import pytest
import torch

from elmo_plugin.benchmark import agreement
from elmo_plugin.benchmark.peers import Setting
from elmo_plugin.benchmark.peers.torch_lstm import TorchLstmPeer
from elmo_plugin.benchmark.peers.transcription import TranscriptionPeer
from elmo_plugin.benchmark.sizes import Model, random_model
from elmo_plugin.engine.characters import batch_to_ids

SETTING = Setting(torch.device("cpu"), threads=1)
IDS = batch_to_ids([["Yes"], ["A", "small", "test", "of", "it", "."], ["Two", "words"]])


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("clip,differs", [(None, False), (0.05, True)])
def test_it_differs_by_the_clips_alone(skip, clip, differs):
    model = random_model("tiny", 0)
    lstm = replace(model.options.lstm, cell_clip=clip, proj_clip=clip, use_skip_connections=skip)
    model = Model("changed", replace(model.options, lstm=lstm), model.tensors)

    peer = TorchLstmPeer(model, SETTING, "float32")
    expected = TranscriptionPeer(model, SETTING, "float64").layers(IDS)

    error = agreement.error(peer.layers(IDS), expected, (IDS > 0).any(dim=2))
    assert (error > 1e-2) if differs else (error < 1e-5)
    torch.testing.assert_close(peer.vectors(IDS), peer.layers(IDS).mean(dim=0))
    assert not peer.same_function
