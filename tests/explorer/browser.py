"""A real browser without a screen, in front of a page that is served by this process."""

import shutil
import tempfile
import threading
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Optional

from elmo_plugin.explorer.explorer import Explorer

#: seconds to wait for what should be there at once
PATIENCE = 60

_FLAGS = (
    "headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking disable-component-update "
    "disable-sync disable-dev-shm-usage hide-scrollbars force-color-profile=srgb font-render-hinting=none"
).split()


def missing() -> Optional[str]:
    """Say what a browser test needs and is not there; None where all is."""
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        return "no chromium and chromedriver (Debian: apt-get install chromium chromium-driver)"
    try:
        import dash  # noqa: F401
        import selenium  # noqa: F401
        import waitress  # noqa: F401
    except ImportError as error:
        return f"{error.name} is not installed"
    return None


@contextmanager
def served(explorer: Explorer) -> Iterator[str]:
    """Serve a page, and yield its address."""
    from elmo_plugin.explorer._page.server import HOST, make_server

    server = make_server(explorer, 0)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.effective_port}/"
    finally:
        server.close()


@contextmanager
def opened() -> Iterator[Any]:
    """Start a browser with a profile of its own, and yield Selenium's driver of it."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory() as profile:
        for flag in (*_FLAGS, f"user-data-dir={profile}"):
            options.add_argument(f"--{flag}")
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            driver.set_page_load_timeout(PATIENCE)
            yield driver
        finally:
            driver.quit()


class Page:
    """
    The page in a browser, as a visitor sees it.

    # Parameters

    driver : Selenium's.
    address : of the page.
    """

    def __init__(self, driver: Any, address: str) -> None:
        self.driver = driver
        self.address = address

    def open(self, width: int = 1280, height: int = 900, colours: str = "light") -> None:
        """Load the page anew on a screen of so many pixels, and wait until it is there."""
        self.resize(width, height)
        scheme = {"features": [{"name": "prefers-color-scheme", "value": colours}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
        self.driver.get(self.address)
        self.wait(lambda: self.count("#spread-plot .point") > 0)
        # How many questions to the server are open, and how many were answered: the page answers a while after a key.
        self.driver.execute_script(
            """
            const ask = window.fetch;
            window.asked = { open: 0, answered: 0 };
            window.fetch = (...what) => {
              window.asked.open += 1;
              return ask(...what).finally(() => { window.asked.open -= 1; window.asked.answered += 1; });
            };
            """
        )
        self.settle()

    def resize(self, width: int, height: int) -> None:
        """Change the screen."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def all(self, selector: str) -> List[Any]:
        """Find elements."""
        from selenium.webdriver.common.by import By

        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> Any:
        """Find the only element."""
        (element,) = self.all(selector)
        return element

    def count(self, selector: str) -> int:
        """How many elements there are."""
        return len(self.all(selector))

    def text(self, selector: str) -> str:
        """The text of all elements together, also of those that are not in sight."""
        return " ".join(element.get_attribute("textContent") for element in self.all(selector))

    def wait(self, condition: Any) -> None:
        """Wait until a condition holds; elements that are replaced meanwhile are looked for again."""
        from selenium.common.exceptions import StaleElementReferenceException
        from selenium.webdriver.support.ui import WebDriverWait

        ignored = [StaleElementReferenceException, ValueError]
        WebDriverWait(self.driver, PATIENCE, 0.05, ignored_exceptions=ignored).until(lambda _: condition())

    def answered(self) -> int:
        """How many questions of the page the server has answered."""
        return int(self.driver.execute_script("return window.asked.answered"))

    def settle(self) -> None:
        """Wait until nothing is being asked, loaded or drawn any more."""
        script = """
            const done = arguments[0];
            const loading = () => document.querySelector('[data-dash-is-loading="true"]') !== null;
            const busy = () => window.asked.open > 0 || loading();
            let last = performance.now();
            const observer = new MutationObserver(() => { last = performance.now(); });
            observer.observe(document.body, { childList: true, subtree: true, attributes: true, characterData: true });
            const look = () => {
              if (busy() || performance.now() - last < 250) { setTimeout(look, 50); return; }
              observer.disconnect();
              done();
            };
            look();
        """
        self.driver.set_script_timeout(PATIENCE)
        self.driver.execute_async_script(script)

    def type(self, text: str) -> None:
        """Replace the text by keys, as a visitor does, and wait for the page's answers."""
        from selenium.webdriver.common.keys import Keys

        before = self.answered()
        box = self.one("#text")
        box.send_keys(Keys.CONTROL, "a")
        box.send_keys(text or Keys.DELETE)
        self.wait(lambda: self.answered() > before)
        self.settle()

    def paste(self, text: str) -> None:
        """Replace the text at once, which keys cannot do with any character."""
        script = """
            const box = document.getElementById("text");
            Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(box, arguments[0]);
            box.dispatchEvent(new Event("input", { bubbles: true }));
        """
        before = self.answered()
        self.driver.execute_script(script, text)
        self.wait(lambda: self.answered() > before)
        self.settle()

    def choose(self, name: str, place: int) -> None:
        """Click one of some radio buttons."""
        self.all(f"#{name} label")[place].click()
        self.settle()

    def log(self) -> List[Dict[str, Any]]:
        """What the browser has complained about since the last call."""
        return list(self.driver.get_log("browser"))
