"""
How long the page of `allennlp elmo-explore` takes to answer, from the last key to the last view.

    python benchmarks/explorer.py                    # the server's part: all answers over HTTP
    python benchmarks/explorer.py --browser          # all of it, in a headless Chromium: typed, computed, drawn

Each round types a sentence that the biLM has not met before, and waits for all views. The page waits for a pause of
100 ms in the typing before it asks; with --browser that is in the time.
"""

import argparse
import json
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

sys.path.insert(0, str(Path(__file__).parents[1]))

from elmo_plugin.benchmark.text import make_sentences  # noqa: E402
from elmo_plugin.benchmark.timing import quantile  # noqa: E402
from elmo_plugin.explorer._page.layout import EXAMPLE  # noqa: E402
from elmo_plugin.explorer.explorer import Choices, load  # noqa: E402
from tests.explorer import browser  # noqa: E402

TYPED = (
    "..sentences.data...sentence.options...sentence.value...other.options...other.value..."
    "status.children...status.className.."
)


def main(arguments: Optional[List[str]] = None) -> int:
    args = _parser().parse_args(arguments)
    explorer = load(Choices(weights=args.weights, index=args.index, senses=args.senses))
    with browser.served(explorer) as address:
        if args.browser:
            reason = browser.missing()
            if reason is not None:
                print(reason)
                return 1
            with browser.opened() as driver:
                page = browser.Page(driver, address)
                page.open()
                times = _measure(args, lambda text: _typed(driver, text))
        else:
            views = _views(address)
            times = _measure(args, lambda text: _asked(address, views, text))
    where = "in the browser" if args.browser else "of the server"
    print(
        f"{explorer.name}, sentences of {args.words} words, {len(times)} rounds, answer {where}: median "
        f"{1000 * quantile(times, 0.5):.0f} ms, 95 % within {1000 * quantile(times, 0.95):.0f} ms"
    )
    return 0


def _measure(args: argparse.Namespace, answer: Callable[[str], float]) -> List[float]:
    words = [word for sentence in make_sentences(args.rounds * args.words, seed=0) for word in sentence]
    others = EXAMPLE.split("\n", 1)[1]
    times = []
    for number in range(args.rounds + _WARM_UP):
        start = number * args.words % (len(words) - args.words)
        # The number makes it new also where words come again.
        sentence = " ".join([f"Nr{number}", *words[start : start + args.words - 1]])
        times.append(answer(f"{sentence}\n{others}"))
    return times[_WARM_UP:]


_WARM_UP = 3


def _asked(address: str, views: Dict[str, Any], text: str) -> float:
    """Ask as the browser does: the text first, then all views at once."""
    begin = time.perf_counter()
    typed = {"text": text, "split": "spaces"}
    others = [{"value": number, "label": ""} for number in range(text.count("\n") + 1)]
    state = [_value("sentence", 0), _value("other", 1), _value("other", others, "options")]
    answer = _post(address, TYPED, [_value("typed", typed, "data")], state)
    values = {
        "sentences": answer["sentences"]["data"],
        **{"sentence": 0, "other": 1, "word": 4, "similarity-layer": 2, "spread-layer": 2},
    }
    threads = [
        threading.Thread(
            target=_post,
            args=(address, output, [_value(name, values[name], kind) for name, kind in inputs], []),
        )
        for output, inputs in views.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begin


def _views(address: str) -> Dict[str, Any]:
    """Each view's outputs and inputs, as the page names them."""
    with urllib.request.urlopen(address + "_dash-dependencies") as answer:
        callbacks = json.load(answer)
    return {
        callback["output"]: [(one["id"], one["property"]) for one in callback["inputs"]]
        for callback in callbacks
        if callback["clientside_function"] is None and callback["inputs"][0]["id"] == "sentences"
    }


def _value(name: str, value: Any, kind: str = "value") -> Dict[str, Any]:
    return {"id": name, "property": kind, "value": value}


def _post(address: str, output: str, inputs: List[Dict[str, Any]], state: List[Dict[str, Any]]) -> Dict[str, Any]:
    outputs = [dict(zip(("id", "property"), part.rsplit(".", 1))) for part in output.strip(".").split("...")]
    body = {
        "output": output,
        "outputs": outputs if output.startswith("..") else outputs[0],
        "inputs": inputs,
        "state": state,
        "changedPropIds": [f"{inputs[0]['id']}.{inputs[0]['property']}"],
    }
    request = urllib.request.Request(
        address + "_dash-update-component", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["response"]


def _typed(driver: Any, text: str) -> float:
    """From the event of the last key to the last change of the document, and the frame that shows it."""
    script = """
        const [text, done] = arguments;
        const box = document.getElementById("text");
        const begin = performance.now();
        let last = begin;
        let drawn = begin;
        const observer = new MutationObserver(() => {
          last = performance.now();
          requestAnimationFrame(() => { drawn = performance.now(); });
        });
        observer.observe(document.body, { childList: true, subtree: true, attributes: true, characterData: true });
        Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(box, text);
        box.dispatchEvent(new Event("input", { bubbles: true }));
        const look = () => {
          const busy = document.querySelector('[data-dash-is-loading="true"]') !== null;
          if (busy || performance.now() - last < 1000) { setTimeout(look, 100); return; }
          observer.disconnect();
          done(drawn - begin);
        };
        setTimeout(look, 1000);
    """
    driver.set_script_timeout(browser.PATIENCE)
    return driver.execute_async_script(script, text) / 1000


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", help="the biLM (default: that of the index, or builtin)")
    parser.add_argument("--index", type=Path, help="folder of elmo-neighbors build")
    parser.add_argument("--senses", nargs="+", default=[], help="texts with word senses")
    parser.add_argument("--words", type=int, default=30, help="in the sentence (default: 30)")
    parser.add_argument("--rounds", type=int, default=50, help="sentences (default: 50)")
    parser.add_argument("--browser", action="store_true", help="measure in a headless Chromium")
    return parser


if __name__ == "__main__":
    sys.exit(main())
