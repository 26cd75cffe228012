"""Table 6 for one biLM: a training of all probes, and what each of them tags right in each sentence of the test set."""

from collections import Counter
from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy as np

from elmo_plugin.probes.scoring import accuracy, difference, interval
from elmo_plugin.reproduction import outcome, training

CONFIG = Path("probes") / "tags.jsonnet"
_BATCH = 64


def run_tags(run: training.Run) -> Dict[str, Any]:
    """
    Train where there is no result yet, and score.

    # Parameters

    run : of the experiment `CONFIG`.

    # Returns

    Scores in percent, each as value, low and high: of each layer, of the most frequent tag of each word, and of the
    second layer over the first; counts.

    # Raises

    `TrainingError` where the training fails.
    """
    if not outcome.is_finished(run.folder):
        training.train(run)
    gold, tagged, majority = _tagged(run.folder)
    sums = [_sums(gold, of_layer) for of_layer in tagged]
    result: Dict[str, Any] = {
        "layers": [interval(one, accuracy) for one in sums],
        "most_frequent": interval(_sums(gold, majority), accuracy),
        "test_words": sum(map(len, gold)),
        "test_sentences": len(gold),
    }
    if len(sums) > 2:
        result["second_over_first"] = difference(sums[1], sums[2], accuracy)
    return result


Tags = List[List[str]]


def _tagged(folder: Path) -> Tuple[Tags, List[Tags], Tags]:
    """Tags of the test set: the right ones, those of each layer, and the most frequent one of each word."""
    archive = outcome.load(folder / outcome.ARCHIVE)
    model, reader = archive.model.eval(), archive.validation_dataset_reader
    counts: Dict[str, Counter] = {}
    for instance in archive.dataset_reader.read(archive.config["train_data_path"]):
        for token, tag in zip(instance["tokens"], instance["tags"]):
            counts.setdefault(token.text, Counter())[tag] += 1
    everywhere = sum(counts.values(), Counter()).most_common(1)[0][0]
    gold: Tags = []
    majority: Tags = []
    layers: List[Tags] = []
    instances = list(reader.read(archive.config["test_data_path"]))
    for start in range(0, len(instances), _BATCH):
        batch = instances[start : start + _BATCH]
        outputs = model.forward_on_instances(batch)
        for instance, output in zip(batch, outputs):
            gold.append(list(instance["tags"].labels))
            words = [token.text for token in instance["tokens"]]
            majority.append([counts[word].most_common(1)[0][0] if word in counts else everywhere for word in words])
            layers = layers or [[] for _ in output["tags"]]
            for of_layer, tags in zip(layers, output["tags"]):
                of_layer.append(tags)
    return gold, layers, majority


def _sums(gold: Tags, tags: Tags) -> np.ndarray:
    """Right tags and tokens of each sentence, `(sentences, 2)`."""
    rows = [(sum(map(str.__eq__, right, found)), len(right)) for right, found in zip(gold, tags)]
    return np.array(rows, dtype=float).reshape(-1, 2)
