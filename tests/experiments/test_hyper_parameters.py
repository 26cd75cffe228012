"""
The cells of table 1, at the paper's scale, have the hyper-parameters of Peters et al. (2018) and of whom it follows.

Nothing else would notice one that was changed: no training of that size runs here.
"""

from pathlib import Path
from typing import Any, Dict

import pytest

pytest.importorskip("allennlp")

from elmo_plugin.reproduction.cells import resolve  # noqa: E402

TABLE = Path(__file__).parent.parent.parent / "experiments" / "table1"
VARIABLES = {"SCALE": "paper", "BILM": "original", "DATA": "data", "VECTORS": ""}
GLOVE_840B, GLOVE_6B, SENNA = "glove.840B.300d.txt.gz", "glove.6B.100d.txt.gz", "senna.50d.txt"
BIGRU, BILSTM = {"type": "gru", "bidirectional": True}, {"type": "lstm", "bidirectional": True}
ADAM = {"trainer.optimizer.type": "adam", "trainer.optimizer.lr": 0.001, "trainer.grad_norm": 5.0}
EMBEDDERS = "model.text_field_embedder.token_embedders"
BATCH = "data_loader.batch_sampler.batch_size"
SCORER = {"hidden_dims": 150, "num_layers": 2, "activations": "relu", "dropout": 0.2}

#: of both models of a task; a dictionary is a part of what is there
BOTH: Dict[str, Dict[str, Any]] = {
    # Clark and Gardner (2017)
    "squad": {
        f"{EMBEDDERS}.words": {"pretrained_file": GLOVE_840B, "trainable": False},
        f"{EMBEDDERS}.characters.encoder": {"num_filters": 100, "ngram_filter_sizes": [5], "embedding_dim": 20},
        f"{EMBEDDERS}.characters.dropout": 0.2,
        "model.dropout": 0.2,
        "model.max_span_length": 17,
        "trainer.optimizer": {"type": "adadelta", "lr": 1.0, "rho": 0.95, "eps": 1e-8},
        "trainer.moving_average": {"type": "exponential", "decay": 0.999, "numerator": 1.0, "denominator": 1.0},
        "trainer.grad_norm": None,
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
        BATCH: 32,
    },
    # He et al. (2017)
    "srl": {
        f"{EMBEDDERS}.words": {"pretrained_file": GLOVE_6B, "trainable": True},
        "model.binary_feature_dim": 100,
        "model.encoder": {"num_layers": 8, "hidden_size": 300, "recurrent_dropout_probability": 0.1},
        "trainer.optimizer": {"type": "adadelta", "lr": 1.0, "rho": 0.95},
        "trainer.grad_clipping": 1.0,
        "trainer.num_epochs": 500,
        "trainer.patience": 200,
        BATCH: 80,
    },
    # Lee et al. (2017)
    "coref": {
        **ADAM,
        "trainer.learning_rate_scheduler": {"type": "exponential", "gamma": pytest.approx(0.999 ** (2802 / 100))},
        f"{EMBEDDERS}.words": {"pretrained_file": GLOVE_840B, "trainable": False},
        f"{EMBEDDERS}.characters.encoder": {"num_filters": 50, "ngram_filter_sizes": [3, 4, 5], "embedding_dim": 8},
        "model.context_layer": {"input_dropout": 0.2, "output_dropout": 0.2},
        "model.context_layer.encoder": {**BILSTM, "hidden_size": 200},
        "model.mention_feedforward": SCORER,
        "model.antecedent_feedforward": SCORER,
        "model.lexical_dropout": 0.5,
        "model.feature_size": 20,
        "model.feature_dropout": 0.2,
        "model.max_span_width": 10,
        "model.spans_per_word": 0.4,
        "model.max_antecedents": 250,
        "dataset_reader.max_sentences": 50,
        "data_loader.batch_size": 1,
    },
    # Peters et al. (2017)
    "ner": {
        **ADAM,
        f"{EMBEDDERS}.words": {"pretrained_file": SENNA, "trainable": True},
        f"{EMBEDDERS}.characters.encoder": {"num_filters": 128, "ngram_filter_sizes": [3], "embedding_dim": 16},
        "model.encoder.encoders.0.encoder": {**BILSTM, "hidden_size": 200},
        "model.encoder.encoders.1.encoder": {**BILSTM, "hidden_size": 100},
        "trainer.learning_rate_scheduler": None,
    },
    # McCann et al. (2017)
    "sst": {
        **ADAM,
        "trainer.optimizer.lr": 0.0001,
        f"{EMBEDDERS}.words": {"pretrained_file": GLOVE_840B, "trainable": False},
        "dataset_reader.min_phrase_tokens": 4,
        "validation_dataset_reader.min_phrase_tokens": None,
        "model.integrator": {**BILSTM, "hidden_size": 300},
        "model.output_layer.activations": ["relu", "relu", "linear"],
    },
}
ELMO: Dict[str, Dict[str, Any]] = {
    "squad": {
        f"{EMBEDDERS}.bilm": {"dropout": 0.5, "layer_norm": None, "num_mixes": 2},
        "model.phrase_layer.encoder.encoder": {**BIGRU, "hidden_size": 90},
        "trainer.num_epochs": 24,
        "vocabulary.min_count.token_characters": 49,
    },
    "snli": {
        f"{EMBEDDERS}.bilm": {"layer_norm": True, "num_mixes": 2},
        "model.encoder.encoder": {**BILSTM, "hidden_size": 300},
        "model.attention_dropout": 0.5,
        "model.regularizer.regexes.1.1": {"type": "l2", "alpha": 0.0001},
    },
    "srl": {f"{EMBEDDERS}.bilm": {"dropout": 0.1, "layer_norm": None, "num_mixes": None}},
    "coref": {f"{EMBEDDERS}.bilm": {"dropout": 0.0, "layer_norm": None, "num_mixes": None}},  # the lexical one is on it
    "ner": {f"{EMBEDDERS}.bilm": {"layer_norm": None, "num_mixes": None}},
    "sst": {
        f"{EMBEDDERS}.bilm": {"layer_norm": None, "num_mixes": 2},
        "model.encoder.encoder": {**BILSTM, "hidden_size": 300},
        "model.encoder.elmo_encoder": BILSTM,
    },
}
BASELINE: Dict[str, Dict[str, Any]] = {
    "squad": {
        "model.phrase_layer.encoder": {**BIGRU, "hidden_size": 100},
        "trainer.num_epochs": 26,
        "vocabulary.min_count.token_characters": 50,
    },
    "snli": {"model.encoder": {**BILSTM, "hidden_size": 300}, "model.attention_dropout": 0.0},
    "sst": {"model.encoder": {**BILSTM, "hidden_size": 300}},
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
