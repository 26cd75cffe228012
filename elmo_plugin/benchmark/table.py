"""A report as Markdown."""

from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

Row = Sequence[str]

_NOT_SAME = "†"
_REFUSED = "✗"


def markdown(report: Dict[str, Any]) -> str:
    """
    Return the whole report as text.

    # Parameters

    report : as `report.start` describes it.
    """
    parts = ["# Benchmark", _machine(report["machine"]), _text(report["text"], report["arguments"])]
    for key in _unique(_group(result) for result in report["speed"]):
        parts += [_title(key), _speed_table([result for result in report["speed"] if _group(result) == key])]
    parts.append(_legend(report["speed"]))
    if report["indexing"]:
        parts += ["## Text to tensors", _indexing_table(report["indexing"])]
    if report["memory"]:
        parts += ["## Memory", _memory_table(report["memory"])]
    if report["rates"]:
        parts += ["## The machine", _rates_table(report["rates"])]
    remarks = _remarks(report)
    if remarks:
        parts += ["## Not measured", "\n".join(f"- {remark}" for remark in remarks)]
    return "\n\n".join(part for part in parts if part) + "\n"


def table(header: Row, rows: Iterable[Row], texts: int = 1) -> str:
    """Make a Markdown table; all columns but the first, or as many as `texts` says, are set to the right."""
    lines = [header, ["---"] * texts + ["---:"] * (len(header) - texts), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _machine(machine: Dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items() if version)
    cores = "1 core" if machine["cores"] == 1 else f"{machine['cores']} cores"
    hardware = machine["gpu"] or f"{machine['cpu']}, {cores}, {machine['vector_instructions']}"
    return (
        f"{hardware}; Python {machine['python']}, {packages}; elmo_plugin {machine['elmo_plugin']}, "
        f"commit {(machine['commit'] or 'unknown')}; {machine['time']}; load before {_load(machine)}."
    )


def _load(machine: Dict[str, Any]) -> str:
    return "unknown" if machine["load_before"] is None else f"{machine['load_before'][0]:.1f}"


def _text(text: Dict[str, Any], arguments: Dict[str, Any]) -> str:
    if not text:
        return ""
    quick = " **Quick form: for equality, the times mean nothing.**" if arguments.get("quick") else ""
    return (
        f"Text: {text['source']}, {text['sentences']:,} sentences of {text['mean_length']:.1f} words in the mean. "
        f"Weights are random, seed {arguments['seed']}.{quick}"
    )


def _group(result: Dict[str, Any]) -> Tuple[str, str, int, str]:
    case = result["case"]
    return case["size"], case["device"], case["threads"], case["order"]


def _title(key: Tuple[str, str, int, str]) -> str:
    size, device, threads, order = key
    where = f"{threads} thread{'s' if threads > 1 else ''}" if device == "cpu" else device
    return f"## {size}, {where}, {'in natural order' if order == 'natural' else 'sorted by length'}"


def _speed_table(results: Sequence[Dict[str, Any]]) -> str:
    names = _unique(peer["name"] for result in results for peer in result["peers"])
    marked = {peer["name"]: "" if peer["same_function"] else f" {_NOT_SAME}" for r in results for peer in r["peers"]}
    header = ["batch", "distinct"] + [name + marked[name] for name in names] + ["limit", "as products"]
    rows = []
    for result in sorted(results, key=lambda result: result["case"]["batch"]):
        of = {peer["name"]: peer for peer in result["peers"]}
        limit = result["limit"]
        cells = [_speed(of.get(name), result["baseline"], limit) for name in names]
        bounds = (
            ["", ""] if limit is None else [_number(limit["words_per_second"]), _number(limit["products_per_second"])]
        )
        rows.append([str(result["case"]["batch"]), f"{result['distinct']:.2f}", *cells, *bounds])
    return table(header, rows)


def _speed(peer: Optional[Dict[str, Any]], baseline: Optional[str], limit: Optional[Dict[str, Any]]) -> str:
    if peer is None:
        return ""
    if peer["words_per_second"] is None:
        return f"{_REFUSED} wrong" if peer["differs"] else "–"
    text = f"**{_number(peer['words_per_second'])}**"
    ratio = peer["ratio"]
    if ratio is not None and peer["name"] != baseline:
        text += f" {ratio['median']:.2f}x ({ratio['low']:.2f} to {ratio['high']:.2f})"
    if limit is not None and peer["precision"] == "float32":
        text += f" {100 * peer['words_per_second'] / limit['words_per_second']:.0f}%"
    return text


def _legend(results: Sequence[Dict[str, Any]]) -> str:
    if not results:
        return ""
    baselines = _unique(result["baseline"] for result in results if result["baseline"])
    lines = [
        "Words a second at the median (sentence boundaries are computed, not counted); how many times as fast as "
        f"{' or '.join(baselines) or 'the baseline'}, median of the ratios of the rounds with quartiles; share of the "
        "limit. *limit*: arithmetic of the LSTMs at the machine's peak rate, or their weights at its bandwidth where "
        "they do not fit the cache. *as products*: their products alone at the rates measured for their shapes. "
        "*distinct*: how many of a batch's words are.",
        _errors(results),
    ]
    if any(not peer["same_function"] for result in results for peer in result["peers"]):
        lines.append(f"{_NOT_SAME} not the same function: for orientation.")
    return "\n\n".join(lines)


def _errors(results: Sequence[Dict[str, Any]]) -> str:
    worst: Dict[str, float] = {}
    for result in results:
        for peer in result["peers"]:
            if peer["error"] is not None:
                worst[peer["name"]] = max(worst.get(peer["name"], 0.0), peer["error"])
    truths = " or ".join(_unique(result["truth"] for result in results))
    errors = ", ".join(f"{name} {error:.1e}" for name, error in worst.items())
    return f"Largest error against {truths}, relative to the largest value of a layer where that is above 1: {errors}."


def _indexing_table(results: Sequence[Dict[str, Any]]) -> str:
    header = ["", "words/s", "AllenNLP's words/s", "times as fast"]
    rows = []
    for result in results:
        if not result["equal"]:
            rows.append([result["what"], f"{_REFUSED} not AllenNLP's tensors", "", ""])
            continue
        ratio = result["ratio"]
        stock = result["words"] / sorted(result["stock_seconds"])[len(result["stock_seconds"]) // 2]
        times = f"{ratio['median']:.1f}x ({ratio['low']:.1f} to {ratio['high']:.1f})"
        rows.append([result["what"], _number(result["words_per_second"]), _number(stock), times])
    return table(header, rows)


def _memory_table(results: Sequence[Dict[str, Any]]) -> str:
    header = ["biLM", "batch", "peer", "loaded", "peak", "peak of loading"]
    rows = []
    for result in results:
        case = result["case"]
        name = result["name"] if result["precision"] == "float32" else f"{result['name']} {result['precision']}"
        sizes = [f"{result[key] / 2**20:,.0f} MiB" for key in ("loaded", "peak", "peak_of_loading")]
        rows.append([case["size"], str(case["batch"]), name, *sizes])
    return table(header, rows)


def _rates_table(rates: Sequence[Dict[str, Any]]) -> str:
    header = ["device", "threads", "peak of products", "bandwidth", "largest cache"]
    rows = []
    for rate in rates:
        cache = "unknown" if rate["cache"] is None else f"{rate['cache'] / 2**20:.0f} MiB"
        peak, bandwidth = f"{rate['peak'] / 1e9:,.0f} GFLOP/s", f"{rate['bandwidth'] / 1e9:,.1f} GB/s"
        rows.append([rate["device"], str(rate["threads"]), peak, bandwidth, cache])
    return table(header, rows)


def _remarks(report: Dict[str, Any]) -> List[str]:
    remarks = [f"{name}: {reason}" for name, reason in report["absent"].items()]
    for result in report["speed"]:
        size, device, threads, order = _group(result)
        for peer in result["peers"]:
            if peer["refused"] is not None:
                case = f"{size}, batch {result['case']['batch']}, {order}, {threads} thread(s) on {device}"
                remarks.append(f"{peer['name']} ({case}): {peer['refused']}")
    return remarks


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _unique(values: Iterable[Any]) -> List[Any]:
    return list(dict.fromkeys(values))
