"""
Print how far each layer of a biLM is from float64 in each precision, as a Markdown table.

    python benchmarks/precision.py --weights builtin small original --sentences 64

Names of `elmo_plugin.benchmark` (tiny, small, original) are random weights of that size, others are weights to read.
"""

import argparse
from typing import Dict, Iterator, List, Tuple

import torch

from elmo_plugin.benchmark.sizes import SIZES, random_model
from elmo_plugin.benchmark.table import table
from elmo_plugin.benchmark.text import make_sentences, read_sentences
from elmo_plugin.engine import BiLm, BiLmOptions, batch_to_ids
from elmo_plugin.engine.backends.base import PRECISIONS
from elmo_plugin.formats import read_weights

BATCH = 32


def read(name: str) -> Tuple[BiLmOptions, Dict[str, torch.Tensor]]:
    """Options and tensors of a biLM; "builtin" is the one that comes with the package, not random weights."""
    if name in SIZES and name != "builtin":
        model = random_model(name, seed=0)
        return model.options, model.tensors
    weights = read_weights(name)
    return weights.options, weights.tensors


@torch.no_grad()
def layers(bilm: BiLm, sentences: List[List[str]]) -> torch.Tensor:
    """All words of all layers, `(layers, words, dim)`, float64."""
    found = []
    for start in range(0, len(sentences), BATCH):
        output = bilm(batch_to_ids(sentences[start : start + BATCH]))
        found.append(output.layers[:, output.mask].double())
    return torch.cat(found, dim=1)


def rows(name: str, sentences: List[List[str]], backend: str) -> Iterator[List[str]]:
    """One row for each precision and layer. All float64 is computed by the plain backend."""
    options, tensors = read(name)

    def build(**changes: str) -> BiLm:
        bilm = BiLm(options, state="reset", word_cache=0, **changes)
        bilm.load_tensors(tensors, name)
        return bilm

    expected = layers(build().double(), sentences)
    for precision in PRECISIONS:
        found = layers(build(backend=backend, precision=precision), sentences)
        for layer in range(1, len(expected)):
            difference = (found[layer] - expected[layer]).abs()
            cosine = torch.cosine_similarity(found[layer], expected[layer], dim=1)
            yield [
                name,
                precision,
                str(layer),
                f"{float(expected[layer].abs().max()):.1f}",
                f"{float(difference.max()):.0e}",
                f"{float((difference**2).mean().sqrt()):.0e}",
                f"{float(cosine.mean()):.6f}",
                f"{float(cosine.min()):.6f}",
            ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", nargs="+", default=["builtin", "small", "original"])
    parser.add_argument("--sentences", type=int, default=64)
    parser.add_argument("--text", help="tokenised sentences, one a line, in place of made-up ones")
    parser.add_argument("--backend", default="auto", help="of the engine (default: auto)")
    arguments = parser.parse_args()
    if arguments.text:
        sentences = read_sentences(arguments.text, arguments.sentences)
    else:
        sentences = make_sentences(arguments.sentences, seed=1)
    header = [
        "weights",
        "precision",
        "layer",
        "largest value",
        "largest error",
        "rms error",
        "mean cosine",
        "least cosine",
    ]
    print(table(header, [row for name in arguments.weights for row in rows(name, sentences, arguments.backend)]))


if __name__ == "__main__":
    main()
