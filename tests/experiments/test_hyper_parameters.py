"""
The cells of table 1, at the paper's scale, have the hyper-parameters and data of Peters et al. (2018) and of whom it
follows; those of figure 1 have parts of these data, and epochs of so many batches.

Nothing else would notice one that was changed: no training of that size runs here.
"""

from pathlib import Path
from typing import Any, Dict, Optional, Tuple

import pytest

pytest.importorskip("allennlp")

from elmo_plugin.reproduction.cells import resolve  # noqa: E402

EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments"
TABLE, FIGURE = EXPERIMENTS / "table1", EXPERIMENTS / "figure1"
VARIABLES = {"SCALE": "paper", "BILM": "original", "DATA": "data", "VECTORS": ""}
GLOVE_840B, GLOVE_6B, SENNA = "glove.840B.300d.txt.gz", "glove.6B.100d.txt.gz", "senna.50d.txt"
BIGRU, BILSTM = {"type": "gru", "bidirectional": True}, {"type": "lstm", "bidirectional": True}
ADAM = {"trainer.optimizer.type": "adam", "trainer.optimizer.lr": 0.001, "trainer.grad_norm": 5.0}
EMBEDDERS = "model.text_field_embedder.token_embedders"
BATCH, BATCHES = "data_loader.batch_sampler.batch_size", "data_loader.batches_per_epoch"
DROPPED = {"type": "variational_dropout", "input_dropout": 0.2, "output_dropout": 0.2}
DOCUMENTS = 2802  # of CoNLL-2012 to train on
PRE_ENCODE = {"hidden_dims": [300], "activations": ["relu"], "dropout": [0.25]}
SCORER = {"hidden_dims": 150, "num_layers": 2, "activations": "relu", "dropout": 0.2}

#: of both models of a task; a dictionary is a part of what is there; what the paper does not tell is AllenNLP's
BOTH: Dict[str, Dict[str, Any]] = {
    # Clark and Gardner (2017)
    "squad": {
        f"{EMBEDDERS}.words": {"pretrained_file": GLOVE_840B, "trainable": False},
        f"{EMBEDDERS}.characters.encoder": {"num_filters": 100, "ngram_filter_sizes": [5], "embedding_dim": 20},
        f"{EMBEDDERS}.characters.dropout": 0.2,
        "model.dropout": 0.2,
        "model.max_span_length": 17,
        "model.initializer.regexes.0": ["_layer.*_module.weight_.*", {"type": "normal", "std": 0.05}],
        "model.initializer.regexes.1": ["_layer.*_module.bias_.*", {"type": "zero"}],
        "model.initializer.regexes.2": ["_(merge|scorer).weight", {"type": "xavier_uniform"}],
        "trainer.optimizer": {"type": "adadelta", "lr": 1.0, "rho": 0.95, "eps": 1e-8},
        "trainer.moving_average": {"type": "exponential", "decay": 0.999, "numerator": 1.0, "denominator": 1.0},
        "trainer.grad_norm": None,
        "trainer.patience": None,
        BATCH: 45,
    },
    # Chen et al. (2017)
    "snli": {
        **ADAM,
        "trainer.optimizer.lr": 0.0004,
        "trainer.learning_rate_scheduler": {"type": "reduce_on_plateau", "factor": 0.5, "patience": 0},
        f"{EMBEDDERS}.words": {"pretrained_file": GLOVE_840B, "trainable": False},
        "model.dropout": 0.5,
        "model.inference_encoder": {**BILSTM, "input_size": 300, "hidden_size": 300},
        "model.projection_feedforward": {"hidden_dims": 300, "activations": "relu"},
        "model.output_feedforward": {"hidden_dims": 300, "activations": "relu", "dropout": 0.5},
        "trainer.num_epochs": 75,
        "trainer.patience": 5,
        BATCH: 32,
        BATCHES: None,
    },
    # He et al. (2017)
    "srl": {
        f"{EMBEDDERS}.words": {"pretrained_file": GLOVE_6B, "trainable": True},
        "model.binary_feature_dim": 100,
        "model.encoder": {"num_layers": 8, "hidden_size": 300, "recurrent_dropout_probability": 0.1},
        # the LSTMs have theirs from their class
        "model.initializer.regexes": [["tag_projection_layer.*weight", {"type": "orthogonal"}]],
        "trainer.optimizer": {"type": "adadelta", "lr": 1.0, "rho": 0.95},
        "trainer.grad_clipping": 1.0,
        "trainer.num_epochs": 500,
        "trainer.patience": 200,
        BATCH: 80,
        BATCHES: None,
    },
    # Lee et al. (2017)
    "coref": {
        **ADAM,
        "trainer.learning_rate_scheduler": {"type": "exponential", "gamma": pytest.approx(0.999 ** (DOCUMENTS / 100))},
        "trainer.num_epochs": round(400_000 / DOCUMENTS),  # 400,000 steps of a document
        "trainer.patience": None,
        f"{EMBEDDERS}.words": {"pretrained_file": GLOVE_840B, "trainable": False},
        f"{EMBEDDERS}.characters.encoder": {"num_filters": 50, "ngram_filter_sizes": [3, 4, 5], "embedding_dim": 8},
        "model.context_layer": {**DROPPED, "encoder": {**BILSTM, "hidden_size": 200}},
        "model.mention_feedforward": SCORER,
        "model.antecedent_feedforward": SCORER,
        "model.lexical_dropout": 0.5,
        "model.feature_size": 20,
        "model.feature_dropout": 0.2,
        "model.max_span_width": 10,
        "model.spans_per_word": 0.4,
        "model.max_antecedents": 250,
        "dataset_reader.max_sentences": 50,
        "data_loader": {"batch_size": 1, "max_instances_in_memory": DOCUMENTS},
    },
    # Peters et al. (2017)
    "ner": {
        **ADAM,
        f"{EMBEDDERS}.words": {"pretrained_file": SENNA, "trainable": True},
        f"{EMBEDDERS}.characters.encoder": {"num_filters": 128, "ngram_filter_sizes": [3], "embedding_dim": 16},
        "model.encoder.encoders.0": {"input_dropout": 0.5, "encoder": {**BILSTM, "hidden_size": 200}},
        "model.encoder.encoders.1": {"input_dropout": 0.5, "encoder": {**BILSTM, "hidden_size": 100}},
        "trainer.learning_rate_scheduler": None,
        "trainer.num_epochs": 75,
        "trainer.patience": 25,
        BATCH: 64,
    },
    # McCann et al. (2017)
    "sst": {
        **ADAM,
        "trainer.optimizer.lr": 0.0001,
        f"{EMBEDDERS}.words": {"pretrained_file": GLOVE_840B, "trainable": False},
        "dataset_reader.min_phrase_tokens": 4,
        "validation_dataset_reader.min_phrase_tokens": None,
        "model.integrator": {**BILSTM, "hidden_size": 300},
        "model.integrator_dropout": 0.1,
        "model.output_layer": {
            "hidden_dims": [1200, 600, 5],
            "activations": ["relu", "relu", "linear"],
            "dropout": [0.2, 0.3, 0.0],
        },
        "trainer.num_epochs": 40,
        "trainer.patience": 5,
        BATCH: 100,
    },
}
ELMO: Dict[str, Dict[str, Any]] = {
    "squad": {
        f"{EMBEDDERS}.bilm": {"dropout": 0.5, "layer_norm": None, "num_mixes": 2},
        "model.phrase_layer.encoder": {**DROPPED, "encoder": {**BIGRU, "hidden_size": 90}},
        "model.residual_layer": {**BIGRU, "input_size": 180, "hidden_size": 90},
        "model.span_start_layer": {**BIGRU, "hidden_size": 90},
        "model.span_end_layer": {**BIGRU, "hidden_size": 90},
        "trainer.num_epochs": 24,
        "vocabulary.min_count.token_characters": 49,
    },
    "snli": {
        f"{EMBEDDERS}.bilm": {"dropout": 0.0, "layer_norm": True, "num_mixes": 2},  # the model's is on it
        "model.encoder.encoder": {**BILSTM, "hidden_size": 300},
        "model.attention_dropout": 0.5,
        "model.regularizer.regexes.1.1": {"type": "l2", "alpha": 0.0001},
    },
    "srl": {f"{EMBEDDERS}.bilm": {"dropout": 0.1, "layer_norm": None, "num_mixes": None}},
    "coref": {f"{EMBEDDERS}.bilm": {"dropout": 0.0, "layer_norm": None, "num_mixes": None}},  # the lexical one is on it
    "ner": {f"{EMBEDDERS}.bilm": {"dropout": 0.0, "layer_norm": None, "num_mixes": None}},
    "sst": {
        f"{EMBEDDERS}.bilm": {"dropout": 0.0, "layer_norm": None, "num_mixes": 2},
        "model.embedding_dropout": 0.5,
        "model.pre_encode_feedforward.encoder.feedforward": PRE_ENCODE,
        "model.encoder.encoder": {**BILSTM, "hidden_size": 300},
        "model.encoder.elmo_encoder": BILSTM,
    },
}
BASELINE: Dict[str, Dict[str, Any]] = {
    "squad": {
        "model.phrase_layer": {**DROPPED, "encoder": {**BIGRU, "hidden_size": 100}},
        "model.residual_layer": {**BIGRU, "input_size": 200, "hidden_size": 100},
        "model.span_start_layer": {**BIGRU, "hidden_size": 100},
        "model.span_end_layer": {**BIGRU, "hidden_size": 100},
        "trainer.num_epochs": 26,
        "vocabulary.min_count.token_characters": 50,
    },
    "snli": {"model.encoder": {**BILSTM, "hidden_size": 300}, "model.attention_dropout": 0.0},
    "sst": {
        "model.embedding_dropout": 0.25,
        "model.pre_encode_feedforward": PRE_ENCODE,
        "model.encoder": {**BILSTM, "hidden_size": 300},
    },
}
PUBLIC, ONTONOTES = "https://allennlp.s3.amazonaws.com/datasets", "data/conll-formatted-ontonotes-5.0/data"
#: where each task is trained, chosen by and scored
PATHS: Dict[str, Tuple[str, str, str]] = {
    # SQuAD's test part is not public
    "squad": (f"{PUBLIC}/squad/squad-train-v1.1.json", *2 * (f"{PUBLIC}/squad/squad-dev-v1.1.json",)),
    "snli": (
        f"{PUBLIC}/snli/snli_1.0_train.jsonl",
        f"{PUBLIC}/snli/snli_1.0_dev.jsonl",
        f"{PUBLIC}/snli/snli_1.0_test.jsonl",
    ),
    # beside it there is a folder "test", which is another part than that of the shared task
    "srl": (f"{ONTONOTES}/train", f"{ONTONOTES}/development", f"{ONTONOTES}/conll-2012-test"),
    "coref": (
        "data/coref/train.english.v4_gold_conll",
        "data/coref/dev.english.v4_gold_conll",
        "data/coref/test.english.v4_gold_conll",
    ),
    "ner": ("data/conll2003/eng.train", "data/conll2003/eng.testa", "data/conll2003/eng.testb"),
    "sst": (f"{PUBLIC}/sst/train.txt", f"{PUBLIC}/sst/dev.txt", f"{PUBLIC}/sst/test.txt"),
}
#: of figure 1, by task and scale: the part of the data that is all of it there, and the batches of an epoch on less
WHOLES: Dict[Tuple[str, str], Tuple[float, Optional[int]]] = {
    ("snli", "paper"): (1.0, 1000),
    ("snli", "small"): (1.0, 60),
    ("srl", "paper"): (1.0, None),  # a pass
    ("srl", "small"): (0.2, 60),
}


def found_at(path: str, content: Any) -> Any:
    """What is at a dotted path; None where there is nothing."""
    for key in path.split("."):
        if isinstance(content, list):
            content = content[int(key)]
        else:
            content = (content or {}).get(key)
    return content


def part_of(found: Any, expected: Any) -> Any:
    """Of a dictionary as much as is expected; of an address or a path the name of the file."""
    if isinstance(expected, dict):
        return {key: part_of((found or {}).get(key), value) for key, value in expected.items()}
    return found.rpartition("/")[2] if isinstance(found, str) else found


@pytest.mark.parametrize("task", sorted(BOTH))
@pytest.mark.parametrize("kind,more", [("elmo", ELMO), ("baseline", BASELINE)])
def test_cell_has_the_paper_s_hyper_parameters(kind: str, more: Dict[str, Dict[str, Any]], task: str) -> None:
    content = resolve(TABLE / f"{task}_{kind}.jsonnet", VARIABLES)
    expected = {**BOTH[task], **more.get(task, {})}

    assert {path: part_of(found_at(path, content), value) for path, value in expected.items()} == expected
    if kind == "elmo":
        assert found_at(f"{EMBEDDERS}.bilm.state", content) == "carried"


@pytest.mark.parametrize("task", sorted(PATHS))
@pytest.mark.parametrize("kind", ["elmo", "baseline"])
def test_cell_has_the_paper_s_data(kind: str, task: str) -> None:
    content = resolve(TABLE / f"{task}_{kind}.jsonnet", VARIABLES)

    assert tuple(content[f"{part}_data_path"] for part in ("train", "validation", "test")) == PATHS[task]


@pytest.mark.parametrize("task,scale", sorted(WHOLES))
@pytest.mark.parametrize("kind", ["elmo", "baseline"])
@pytest.mark.parametrize("percent", ["0.1", "1", "10"])
def test_cell_of_figure_1_has_its_part_and_epochs_of_as_many_batches(
    percent: str, kind: str, task: str, scale: str
) -> None:
    content = resolve(FIGURE / f"{task}_{kind}_{percent}.jsonnet", {**VARIABLES, "SCALE": scale})
    whole, batches = WHOLES[task, scale]

    assert content["dataset_reader"]["fraction"] == pytest.approx(whole * float(percent) / 100)
    assert found_at(BATCHES, content) == batches
