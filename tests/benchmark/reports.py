"""A small report with one of everything, as a run would have written it."""

import copy
from typing import Any, Dict, Optional


def peer(name: str, speed: Optional[float] = None, ratio: float = 1.0, **changes: Any) -> Dict[str, Any]:
    """Make a peer's result; without a speed it was not measured."""
    return {
        "name": name,
        "precision": "float32",
        "same_function": True,
        "refused": None,
        "differs": False,
        "error": 2e-6,
        "tolerance": 1e-5,
        "seconds": [] if speed is None else [1.0, 1.0, 1.0],
        "words_per_second": speed,
        "ratio": None if speed is None else {"median": ratio, "low": ratio - 0.1, "high": ratio + 0.1},
        **changes,
    }


def case(batch: int, *peers: Dict[str, Any], **changes: Any) -> Dict[str, Any]:
    """Make a case's result."""
    return {
        "case": {"size": "original", "batch": batch, "order": "natural", "threads": 1, "device": "cpu", **changes},
        "truth": "transcription float64",
        "baseline": "allennlp",
        "batches": 1,
        "words": 640,
        "padded": 1000,
        "distinct": 0.47,
        "limit": {
            "words_per_second": 500.0,
            "bound": "arithmetic",
            "products_per_second": 400.0,
            "flops_per_word": 1.5e8,
            "bytes_per_word": 0.0,
        },
        "peers": list(peers),
    }


_REPORT: Dict[str, Any] = {
    "format": 1,
    "machine": {
        "time": "2030-01-02 03:04 UTC",
        "cpu": "Some CPU",
        "cores": 2,
        "vector_instructions": "AVX512",
        "memory_gib": 16.0,
        "load_before": [0.5, 0.4, 0.3],
        "gpu": None,
        "cuda": None,
        "system": "Linux",
        "python": "3.11.7",
        "packages": {"allennlp": "2.10.1", "torch": "2.14.1", "triton": None},
        "mkl": True,
        "elmo_plugin": "0.1.0",
        "commit": "0123456789abcdef",
    },
    "arguments": {"quick": False, "seed": 0},
    "text": {"source": "made up", "sentences": 4096, "mean_length": 19.6},
    "absent": {"torch-lstm": "no reason"},
    "rates": [{"device": "cpu", "threads": 1, "peak": 8e10, "bandwidth": 1.2e10, "cache": 2**25}],
    "speed": [
        case(
            32,
            peer("allennlp", 60.0, 1.0),
            peer("cpu", 244.0, 4.07),
            peer("cpu float64", 120.0, 2.0, precision="float64"),
            peer("torch.nn.LSTM", 200.0, 3.3, same_function=False, error=7.5e-4, tolerance=None),
        ),
        case(
            8,
            peer("allennlp", refused="needs about 24 GiB, 10 GiB are free", error=None),
            peer("cpu", refused="its vectors are wrong: error 3.0e-02", differs=True, error=3e-2),
        ),
        case(8, peer("cpu", 99.0, 2.0), order="sorted", threads=2),
    ],
    "indexing": [
        {
            "what": "token indexer",
            "words": 1000,
            "equal": True,
            "seconds": [0.01, 0.01, 0.01],
            "stock_seconds": [0.3, 0.2, 0.25],
            "words_per_second": 100_000.0,
            "ratio": {"median": 25.0, "low": 20.0, "high": 30.0},
        },
        {
            "what": "batch_to_ids",
            "words": 1000,
            "equal": False,
            "seconds": [],
            "stock_seconds": [],
            "words_per_second": 0.0,
            "ratio": {"median": 0.0, "low": 0.0, "high": 0.0},
        },
    ],
    "memory": [
        {
            "case": {"size": "original", "batch": 8, "order": "natural", "threads": 1, "device": "cpu"},
            "name": "cpu",
            "precision": "float32",
            "loaded": 400 * 2**20,
            "peak": 500 * 2**20,
            "peak_of_loading": 1200 * 2**20,
        }
    ],
}


def example() -> Dict[str, Any]:
    """A copy that may be changed."""
    return copy.deepcopy(_REPORT)
