"""The page in a real browser: typed, clicked, seen. Skipped where there is none, failed under --require-browser."""

import json
import os

import pytest

pytest.importorskip("faiss")
pytest.importorskip("safetensors")

from tests.explorer import browser, screenshots
from tests.explorer.explorers import make_explorer
from tests.formats.test_layer_mixes import archive, config, our_state
from tests.probes import texts

HOSTILE = (
    "<img src=x onerror=alert(1)> <b>bold</b> $\\alpha$ &amp; &lt;i&gt; <a href='javascript:alert(2)'>play</a>\n"
    "%{x} {{7*7}} </script><script>alert(3)</script> \u202eplay\u202c \0 play 日本語 🙂 e\u0301"
)


@pytest.fixture(scope="module")
def page(request, tmp_path_factory):
    reason = browser.missing()
    if reason is not None and request.config.getoption("--require-browser"):
        pytest.fail(f"--require-browser: {reason}", pytrace=False)
    if reason is not None:
        pytest.skip(reason)
    path = texts.write_semcor(tmp_path_factory.mktemp("senses") / "train.jsonl.gz", texts.TRAIN * 2)
    with browser.served(make_explorer(senses=[str(path)])) as address, browser.opened() as driver:
        yield browser.Page(driver, address)


@pytest.fixture(autouse=True)
def fresh(page):
    """Load the page anew; after the test the browser must have nothing to complain about, and no dialogue open."""
    page.open()
    page.log()
    yield
    assert [entry["message"] for entry in page.log() if entry["level"] == "SEVERE"] == []


def test_every_view_answers_what_is_typed(page):
    page.type("The old dog sleeps .\nA young dog barks .\n")

    assert page.text("#status") == "2 sentences, 10 words."
    assert [element.text for element in page.all("#sentence label")] == [
        "1. The old dog sleeps .",
        "2. A young dog barks .",
    ]
    page.choose("word", 2)
    assert page.count("#nearest-view .layer") == 3
    assert page.text("#nearest-view .layer-1:last-child mark").split()[0] == "dog"
    assert "young" in page.text("#heat-map thead th") and "old" in page.text("#heat-map tbody th")
    assert page.text("#spread-view .about").startswith("dog: 2 on this page")
    assert page.count("#spread-plot .point") == 2
    assert page.text("#surprisal-view tbody th") == "begin The* old* dog* sleeps* . end"
    assert page.count("#surprisal-view .bits") == 12


def test_choosing_changes_what_is_shown(page):
    before = page.text("#spread-numbers")
    page.choose("spread-layer", 1)
    assert page.text("#spread-numbers") != before
    page.choose("spread-layer", 0)
    assert "Layer 0 knows nothing of the sentence" in page.text("#spread-view .about")
    page.choose("other", 4)
    assert "bank" in page.text("#heat-map thead th")
    page.choose("sentence", 4)
    assert "bank" in page.text("#heat-map tbody th")
    page.choose("word", 4)
    assert page.text("#spread-view .about").startswith("bank: 2 on this page")
    page.choose("split", 1)
    assert "7. " not in page.text("#sentence") and "London." in page.text("#sentence")


def test_senses_have_colours(page):
    legend = page.text("#spread-view .legend")

    assert "noun.communication play%1:10:01:: (2)" in legend and "★" in legend
    assert "10 elsewhere" in page.text("#spread-view .about")


def test_keys_alone_are_enough(page):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    def press(*keys):
        ActionChains(page.driver).send_keys(*keys).perform()

    def focused():
        script = "const one = document.activeElement; return one.name || one.id || one.textContent.trim()"
        return page.driver.execute_script(script)

    page.one("#text").send_keys(Keys.TAB)
    reached = []
    while "theme" not in reached and len(reached) < 40:
        reached.append(focused())
        if focused() == "word":
            press(Keys.ARROW_RIGHT)
            page.settle()
        press(Keys.TAB)
    views = ["Neighbours", "Similarity", "Occurrences", "Surprisal", "Layer weights"]
    numbers = "The numbers as text"
    assert reached[: len(views) + 3] == ["split", "sentence", "word", *views]
    # Behind the last one the browser's own controls have a turn, which the document sees as its body.
    assert [name for name in reached[len(views) + 3 :] if "JavaScript" not in name] == [
        "other", "similarity-layer", "heat-map", numbers, "spread-layer", numbers, "archive-input", "theme"
    ]  # fmt: skip
    assert page.text("#spread-view .about").startswith("at: ")


@pytest.mark.parametrize(
    "text,message",
    [
        ("x" * 20_001, "The text has 20,001 characters, more than the 20,000 that this page takes."),
        ("a\n" * 61, "The text has 61 sentences, more than the 60 that this page takes."),
        ("a " * 100, "Sentence 1 has 100 words, more than the 99 that this page takes."),
    ],
    ids=["characters", "sentences", "words"],
)
def test_too_much_text_is_refused_with_the_limit(page, text, message):
    page.paste(text)

    assert page.text("#status").startswith(message)
    assert page.text("#nearest-view") == "Type or paste a sentence to see this."


def test_as_much_as_is_allowed_is_shown(page):
    page.paste("\n".join(" ".join(f"w{row}x{place}" for place in range(99)) for row in range(10)))

    assert page.text("#status") == "10 sentences, 990 words."
    assert page.count("#heat-map thead th") == page.count("#word label") == 99
    assert page.driver.execute_script("return document.documentElement.scrollWidth") <= 1280


def test_no_text_is_no_error(page):
    page.type("")

    assert page.text("#status") == "No words yet."
    views = [page.text(f"#{view}-view") for view in ("nearest", "similarity", "spread", "surprisal")]
    assert views == ["Type or paste a sentence to see this."] * 4
    page.type("Back again .")
    assert page.count("#surprisal-view tbody tr") == 5


def test_hostile_text_is_text(page):
    page.choose("split", 1)
    page.paste(HOSTILE)
    for place in range(page.count("#word label")):
        page.choose("word", place)

    assert page.count("main img, main script, .columns b, svg a, main a") == 0
    assert "onerror=alert(1)>" in page.text("#sentence")
    assert "<b>bold</b>" in page.text("#heat-map tbody th") and "$\\alpha$" in page.text("#heat-map tbody th")
    assert "&amp;" in page.text("#heat-map tbody th")
    assert page.driver.execute_script("return window.getSelection !== undefined") is True  # no dialogue is in the way


def test_archives_are_read_and_removed(page, tmp_path):
    path = archive(tmp_path / "my task.tar.gz", our_state(mixes=2), {"model": config()})
    page.one("#archive-input").send_keys(str(path))
    page.wait(lambda: page.count("#layers-view tbody tr") == 2)

    assert page.text("#layers-view thead") == "modelELMo attokensLSTM 1LSTM 2γ"
    assert page.text("#layers-view tbody tr:first-child") == "my task.tar.gzinput0.090.240.670.50"
    assert page.text("#archive-message") == "my task.tar.gz: read."
    page.one("#archive-remove").click()
    page.wait(lambda: page.text("#layers-view") == "No archive yet.")


def test_a_file_that_is_dropped_is_read(page):
    page.driver.execute_script(
        """
        const data = new DataTransfer();
        data.items.add(new File(["not an archive"], "<b>.txt"));
        document.getElementById("archive-drop").dispatchEvent(
          new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
        """
    )
    page.wait(lambda: "not a tar archive" in page.text("#archive-message"))

    assert page.text("#archive-message").startswith("<b>.txt: not a tar archive, expected the model.tar.gz")
    # The browser reports the answer 400, which is right here.
    assert all("400" in entry["message"] for entry in page.log())


def test_code_in_an_archive_does_not_run(page, tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "was-here"),)

    path = archive(tmp_path / "model.tar.gz", {**our_state(), "evil": Evil()})
    page.one("#archive-input").send_keys(str(path))
    page.wait(lambda: "cannot be read as weights" in page.text("#archive-message"))

    assert not (tmp_path / "was-here").exists()
    page.log()


def test_colours_follow_the_system_and_the_choice(page):
    def colours():
        return page.driver.execute_script(
            """
            const tick = document.querySelector("#spread-plot .xtick text");
            return [document.body, tick].map((one) => getComputedStyle(one)[one === tick ? "fill" : "backgroundColor"]);
            """
        )

    light = colours()
    page.open(colours="dark")
    dark = colours()
    assert light == ["rgb(255, 255, 255)", "rgb(29, 33, 41)"] and dark == ["rgb(22, 24, 29)", "rgb(230, 232, 236)"]
    page.choose("theme", 1)
    assert colours() == light
    page.open(colours="dark")  # the choice stays
    assert colours() == light
    page.choose("theme", 0)


def test_a_phone_scrolls_down_only(page):
    page.open(width=360, height=740)

    assert page.driver.execute_script("return document.documentElement.scrollWidth") <= 360
    small = """
        return Array.from(document.querySelectorAll(".choice label, #archive-drop button, #archive-drop input"))
          .filter((one) => one.offsetParent && one.getBoundingClientRect().height < 24).map((one) => one.textContent);
    """
    assert page.driver.execute_script(small) == []


def test_nothing_is_asked_of_other_machines(page):
    page.type("One more sentence .")
    requests = [json.loads(entry["message"])["message"] for entry in page.driver.get_log("performance")]
    addresses = {
        event["params"]["request"]["url"] for event in requests if event["method"] == "Network.requestWillBeSent"
    }

    assert len(addresses) > 3
    foreign = {url for url in addresses if not url.startswith((page.address, "data:", "blob:", "about:", "chrome:"))}
    assert foreign == set()


def test_two_visitors_do_not_meet(page):
    page.type("My own sentence .")
    with browser.opened() as driver:
        other = browser.Page(driver, page.address)
        other.open()
        other.type("Quite another text here .")
        page.choose("word", 1)

        assert "own" in page.text("#spread-view .about") and "Quite" not in page.text("#page")
        assert "Quite" in other.text("#sentence") and "own" not in other.text("#sentence")


def test_pictures_of_the_documents_can_be_taken_again(page, tmp_path):
    pytest.importorskip("PIL")
    path = archive(tmp_path / "my task.tar.gz", our_state(mixes=2), {"model": config()})

    screenshots.take(page, tmp_path, [path])

    sizes = {picture.stem: picture.stat().st_size for picture in tmp_path.glob("*.png")}
    assert set(sizes) == set(screenshots.NAMES)
    assert all(1000 < size < 150_000 for size in sizes.values()), sizes
