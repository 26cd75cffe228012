"""`allennlp elmo-perplexity`: how well a biLM predicts a text, in both directions."""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, cast

from allennlp.commands.subcommand import Subcommand
from overrides import overrides

if TYPE_CHECKING:
    from elmo_plugin.dataset_readers.elmo_corpus import ElmoCorpusReader
    from elmo_plugin.formats.weight_set import WeightSet


@Subcommand.register("elmo-perplexity")
class ElmoPerplexity(Subcommand):
    """Score a text by the full softmax of a biLM: perplexities of both directions and of their mean."""

    @overrides(check_signature=False)
    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        subparser = parser.add_parser(self.name, help=self.__doc__, description=self.__doc__)
        add = subparser.add_argument
        add("weights", help="biLM with a softmax: the archive of a training, or a weight file")
        add("text", nargs="*", help="files, folders or patterns: one tokenised sentence a line")
        add("--like", metavar="CONFIG", help="the held-out text of a fine-tuning, read as there")
        add("--state", choices=["carried", "reset", "warm"], default="carried", help=_STATE)
        add("--batch-size", type=int, default=32, help="rows that are read side by side (default: 32)")
        add("--max-sentences", type=int, help="score only the first sentences")
        add("--vocabulary", type=Path, help="words of the softmax, where the weights come without them")
        add("--reader", help="take the text out of a task's files: name or JSON object of its dataset reader")
        add("--fields", nargs="+", help="of --reader: the text fields to take (default: all)")
        add("--samples", type=int, default=1000, help="texts drawn for the intervals; 0 for none (default: 1000)")
        add("--seed", type=int, default=0, help="of the drawing (default: 0)")
        add("--cuda-device", type=int, default=-1, help="number of the GPU; -1 for the CPU (default)")
        add("--output", type=Path, help="file to write the numbers to as well, as JSON")
        subparser.set_defaults(func=perplexity_from_args)
        return subparser


_STATE = (
    "carried: streams of text, as the biLM was trained (default); reset and warm: sentence by sentence, from zeros or "
    "from the warm state"
)


def perplexity_from_args(args: argparse.Namespace) -> None:
    """Score, print and write."""
    from elmo_plugin.formats.atomic import replacing

    if args.output is not None:
        _check_output(args)
    result = measure_perplexity(
        args.weights,
        args.text,
        like=args.like,
        state=args.state,
        batch_size=args.batch_size,
        max_sentences=args.max_sentences,
        vocabulary=args.vocabulary,
        reader=args.reader,
        fields=args.fields,
        samples=args.samples,
        seed=args.seed,
        cuda_device=args.cuda_device,
    )
    print(_table(result))
    if args.output is not None:
        with replacing(args.output) as part:
            part.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def measure_perplexity(
    weights: str,
    text: List[str],
    like: Optional[str] = None,
    state: str = "carried",
    batch_size: int = 32,
    max_sentences: Optional[int] = None,
    vocabulary: Optional[Path] = None,
    reader: Optional[str] = None,
    fields: Optional[List[str]] = None,
    samples: int = 1000,
    seed: int = 0,
    cuda_device: int = -1,
) -> Dict[str, Any]:
    """
    Score a text.

    # Parameters

    weights, text, ... : as the command's arguments.

    # Returns

    `perplexity` and `interval` with the keys forward, backward, mean; counts; and how they were made.

    # Raises

    `ConfigurationError` where the biLM has no softmax or no vocabulary, and where arguments do not go together.
    """
    from allennlp.common.checks import ConfigurationError

    from elmo_plugin.corpus.perplexity import score_corpus
    from elmo_plugin.embedding.embedder import build_bilm, device_name
    from elmo_plugin.embedding.scoring import build_softmax

    if batch_size < 1 or samples < 0:
        raise ConfigurationError(f"elmo-perplexity: batch size {batch_size}, {samples} samples; expected 1 and 0 up.")
    if like is None:
        parameters: Dict[str, Any] = {"task_reader": _task_reader(reader), "fields": fields}
    elif reader is not None or fields is not None:
        raise ConfigurationError(
            f"elmo-perplexity: --like {like} says how the text is read, and so do --reader and --fields. Give one."
        )
    else:
        parameters, text = _read_like(like, text)
    if not text:
        raise ConfigurationError("elmo-perplexity: no text; give files, or --like CONFIG.")
    found, words = _load(weights, vocabulary)
    device = device_name(cuda_device)
    bilm = build_bilm(found, state="warm" if state == "warm" else "reset", device=device)
    softmax = build_softmax(found).to(device)
    texts = _reader(parameters, bilm.options.max_characters_per_token, max_sentences)
    corpus = texts.corpus(text)
    table = texts.word_table({word: index for index, word in enumerate(words)})
    scores = score_corpus(bilm, softmax, corpus, table, state, batch_size)
    counts = corpus.counts()
    return {
        "weights": weights,
        "text": text,
        "state": state,
        "batch_size": batch_size,
        "files": len(corpus.files),
        "lines": counts.lines,
        "sentences": counts.sentences,
        "words": counts.tokens,
        "tokens": int(scores.tokens.sum()),
        "unknown_words": int(scores.unknown.sum()),
        "vocabulary": len(words),
        "perplexity": scores.perplexities(),
        "interval": scores.intervals(samples, seed) if samples and counts.sentences > 1 else None,
        "samples": samples,
        "seed": seed,
    }


def _check_output(args: argparse.Namespace) -> None:
    """Refuse, before the work, to write over anything that is read."""
    import glob

    from elmo_plugin.adapters.outputs import check_output
    from elmo_plugin.formats.sources import files_of

    text = args.text if args.like is None else _read_like(args.like, args.text)[1]
    found = [name for pattern in text for name in (pattern, *glob.glob(pattern, recursive=True))]
    others = [path for path in (args.like, args.vocabulary) if path is not None]
    check_output(args.output, [*found, *others, *files_of(args.weights)])


def _load(weights: str, vocabulary: Optional[Path]) -> Tuple["WeightSet", List[str]]:
    """Read weights that have a softmax, and the words of its rows."""
    from allennlp.common.checks import ConfigurationError

    from elmo_plugin.corpus.vocabulary import read_vocabulary
    from elmo_plugin.formats import read_weights

    found = read_weights(weights)
    words = found.vocabulary if vocabulary is None else read_vocabulary(vocabulary)
    if found.softmax is None:
        raise ConfigurationError(
            f"elmo-perplexity: {weights} comes without a softmax, expected the archive of a training or weights that "
            "were exported with it. experiments/finetuning/softmax.jsonnet trains one. (An adaptive softmax is in its "
            "archive alone: `allennlp evaluate` scores by it.)"
        )
    if words is None or len(words) != len(found.softmax["bias"]):
        raise ConfigurationError(
            f"elmo-perplexity: the softmax of {weights} is over {len(found.softmax['bias'])} words, found "
            f"{'no vocabulary' if words is None else len(words)}. Give the vocabulary that it was trained with: "
            "--vocabulary FILE."
        )
    return replace(found, vocabulary=words), words


def _read_like(config: str, text: List[str]) -> Tuple[Dict[str, Any], List[str]]:
    """Return the parameters of the reader of held-out text, and where it is unless text was given."""
    from allennlp.common import Params
    from allennlp.common.checks import ConfigurationError

    content = Params.from_file(config).as_dict(quiet=True)
    parameters = content.get("validation_dataset_reader") or content.get("dataset_reader") or {}
    if parameters.pop("type", None) != "elmo_corpus":
        raise ConfigurationError(f"elmo-perplexity: --like {config}: expected the dataset reader 'elmo_corpus'.")
    held_out = content.get("validation_data_path") or []
    return parameters, text or (held_out if isinstance(held_out, list) else [held_out])


def _task_reader(text: Optional[str]) -> Optional[Dict[str, Any]]:
    """Take a name or a JSON object as the parameters of a task's dataset reader."""
    from allennlp.common.checks import ConfigurationError

    if text is None or not text.lstrip().startswith("{"):
        return None if text is None else {"type": text}
    try:
        return cast(Dict[str, Any], json.loads(text))
    except json.JSONDecodeError as error:
        raise ConfigurationError(f"elmo-perplexity: --reader {text}: no JSON object: {error}.") from error


def _reader(parameters: Dict[str, Any], length: Optional[int], limit: Optional[int]) -> "ElmoCorpusReader":
    from allennlp.common import Params

    from elmo_plugin.dataset_readers.elmo_corpus import ElmoCorpusReader

    changes: Dict[str, Any] = {"word_level": length is None}
    if length is not None:
        changes["max_characters_per_token"] = length
    if limit is not None:
        changes["max_sentences"] = limit
    return ElmoCorpusReader.from_params(Params({**parameters, **changes}))


def _table(result: Dict[str, Any]) -> str:
    share = result["unknown_words"] / max(1, result["words"])
    lines = [
        f"lines          {result['lines']:>12,}   in {result['files']} files",
        f"sentences      {result['sentences']:>12,}",
        f"words          {result['words']:>12,}",
        f"unknown words  {result['unknown_words']:>12,}   {100 * share:.2f} % of the words, not among the "
        f"{result['vocabulary']:,} of the softmax",
        f"predicted      {result['tokens']:>12,}   words and sentence ends, in each direction",
        f"state          {result['state']:>12}   {result['batch_size']} rows",
        "",
        f"{'':14} {'perplexity':>12}",
    ]
    for name, value in result["perplexity"].items():
        line = f"{name:14} {value:>12.2f}"
        if result["interval"] is not None:
            low, high = result["interval"][name]
            line += f"   {low:.2f} to {high:.2f}"
        lines.append(line)
    if result["interval"] is not None:
        drawn = f"{result['samples']} texts drawn from these sentences (seed {result['seed']})"
        lines.append(f"\nIntervals: of 95 % of {drawn}.")
    return "\n".join(lines)
