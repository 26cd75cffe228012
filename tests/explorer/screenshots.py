"""
The pictures of docs/explorer.md, made anew, from the root of the repository:

    python -m tests.explorer.screenshots docs/explorer --senses 'semcor/train_*.jsonl.gz' --archives pos.tar.gz
"""

import argparse
import io
from dataclasses import replace
from pathlib import Path
from typing import Any, Sequence

from elmo_plugin.explorer.explorer import Choices, Explorer
from elmo_plugin.formats import read_weights
from tests.explorer import browser

#: pixels around the picture of a section
_BORDER = 20
SECTIONS = {"neighbours": "nearest", "similarity": "similarity", "occurrences": "spread", "surprisal": "surprisal"}
NAMES = ("page", *SECTIONS, "layers", "dark", "phone")


def take(page: browser.Page, folder: Path, archives: Sequence[Path]) -> None:
    """
    Take all pictures.

    # Parameters

    page : of an explorer with all there is.
    folder : where they go; it is there.
    archives : trained models, for the layers' weights.
    """
    page.open(height=860)
    _save(page.driver.get_screenshot_as_png(), folder / "page.png")
    for name, section in SECTIONS.items():
        _save(_in_sight(page, section).screenshot_as_png, folder / f"{name}.png", _BORDER)
    for path in archives:
        before = page.count("#layers-view tbody tr")
        page.one("#archive-input").send_keys(str(path.resolve()))
        page.wait(lambda before=before: page.count("#layers-view tbody tr") > before)
    _save(_in_sight(page, "layers").screenshot_as_png, folder / "layers.png", _BORDER)
    page.open(height=860, colours="dark")
    page.driver.execute_script("document.getElementById('similarity').scrollIntoView()")
    page.settle()
    _save(page.driver.get_screenshot_as_png(), folder / "dark.png")
    page.open(width=390, height=844)
    page.driver.execute_script("document.querySelector('.field-sentence').scrollIntoView()")
    page.settle()
    _save(page.driver.get_screenshot_as_png(), folder / "phone.png")


def _in_sight(page: browser.Page, section: str) -> Any:
    element = page.one(f"#{section}")
    # A window as tall as the page: what does not fit is not in the picture of an element.
    height = page.driver.execute_script("return document.documentElement.scrollHeight")
    page.resize(1280, height)
    page.settle()
    return element


def _save(png: bytes, path: Path, border: int = 0) -> None:
    from PIL import Image, ImageOps

    image = Image.open(io.BytesIO(png)).convert("RGB")
    if border:
        # The last line of pixels is the line to the next section.
        image = ImageOps.expand(image.crop((0, 0, image.width, image.height - 1)), border, image.getpixel((0, 0)))
    # A palette that has the rare colours too: a few points of a plot have one of their own.
    image.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--weights", default="builtin", help="with a softmax")
    parser.add_argument("--name", default="builtin", help="what the page calls them")
    parser.add_argument("--index", type=Path, help="of elmo-neighbors build")
    parser.add_argument("--senses", nargs="+", default=[], help="texts with word senses")
    parser.add_argument("--archives", type=Path, nargs="+", default=[], help="trained models")
    args = parser.parse_args()
    weights = replace(read_weights(args.weights), source=args.name)
    explorer = Explorer(weights, Choices(index=args.index, senses=args.senses))
    args.folder.mkdir(parents=True, exist_ok=True)
    with browser.served(explorer) as address, browser.opened() as driver:
        take(browser.Page(driver, address), args.folder, args.archives)


if __name__ == "__main__":
    main()
