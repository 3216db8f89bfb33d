"""A page in Chromium."""

import base64
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--no-first-run",
)
PATIENCE = 60  # seconds, for a busy machine


@contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """The system's Chromium, without a network."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = "/usr/bin/chromium"
    for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    try:
        driver.execute_cdp_cmd("Network.enable", {})
        offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
        driver.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
        yield driver
    finally:
        driver.quit()


class OpenPage:
    """A page, and what a reader does with it."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def go(self, path: Path, place: str = "", *, width: int = 1280, scheme: str = "light") -> None:
        """Open a file; wait until its script is ready."""
        self.media(scheme)
        self.resize(width)
        self._driver.get("about:blank")
        for kind in ("browser", "performance"):
            self._driver.get_log(kind)
        self._driver.get(path.resolve().as_uri() + (f"#{place}" if place else ""))
        self.wait("document.documentElement.dataset.ready === 'yes'")

    def resize(self, width: int) -> None:
        """Make the window so wide; Chromium makes none narrower than 500 px by itself."""
        self._driver.set_window_size(max(width, 500), 900)
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
            mobile=False,
        )  # fmt: skip

    @contextmanager
    def visit(self, url: str) -> Iterator[None]:
        """Open an address; inside the block there is a network."""
        network = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.command("Network.emulateNetworkConditions", offline=False, **network)
        try:
            for kind in ("browser", "performance"):
                self._driver.get_log(kind)
            self._driver.get(url)
            yield
        finally:
            self._driver.get("about:blank")
            self.command("Network.emulateNetworkConditions", offline=True, **network)

    def media(self, scheme: str = "light", media: str = "") -> None:
        """The colours that the reader prefers, and the medium, such as ``print``."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", media=media, features=features)

    def command(self, name: str, **parameters: object) -> Any:
        """A command of the DevTools protocol."""
        return self._driver.execute_cdp_cmd(name, parameters)

    def js(self, expression: str) -> Any:
        """The value of an expression."""
        return self._driver.execute_script(f"return ({expression})")

    def wait(self, expression: str) -> None:
        """Wait until an expression is true."""
        from selenium.webdriver.support.wait import WebDriverWait

        WebDriverWait(self._driver, PATIENCE, 0.02).until(lambda _: self.js(expression), expression)

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements that are displayed."""
        shown = "x.checkVisibility() || x.closest('svg')"
        return list(
            self.js(f"[...document.querySelectorAll({json.dumps(selector)})]"
                    f".filter(x => {shown}).map(x => x.textContent.trim())")
        )  # fmt: skip

    def click(self, selector: str, index: int = 0) -> None:
        """Click on an element, as a reader does."""
        element = self._driver.find_elements("css selector", selector)[index]
        self._driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def press(self, *keys: str) -> None:
        """Press keys, by their names, where the focus is."""
        from selenium.webdriver import ActionChains, Keys

        chain = ActionChains(self._driver)
        for key in keys:
            chain.send_keys(getattr(Keys, key, key))
        chain.perform()

    def violations(self, axe: str) -> list[Any]:
        """What axe-core finds: the rule, what it is about, and what is wrong with it.

        Args:
            axe: its source.
        """
        self.command("Runtime.evaluate", expression=axe)  # which no policy of the page refuses
        found = self._driver.execute_async_script(
            "const done = arguments[0]; axe.run().then((all) => done(all.violations.map((each) => "
            "[each.id, each.nodes[0].target.join(' '), each.nodes[0].failureSummary])))"
        )
        return list(found)

    def problems(self) -> list[str]:
        """What the console has: errors, warnings and what the policy refused."""
        entries = self._driver.get_log("browser")
        return [entry["message"] for entry in entries if entry["level"] != "INFO"]

    def requests(self) -> list[str]:
        """The addresses that were asked for since the page was opened."""
        found = []
        for entry in self._driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """The page as a PNG: all of it, or what the window shows."""
        taken = self.command("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(taken["data"]))

    def pdf(self, path: Path) -> None:
        """The page as it is printed."""
        printed = self.command("Page.printToPDF", printBackground=True)
        path.write_bytes(base64.b64decode(printed["data"]))


def ascending(values: Sequence[float]) -> bool:
    """Whether values are in order."""
    return list(values) == sorted(values)
