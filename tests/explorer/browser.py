"""A headless browser for tests: found by `LUTHIER_BROWSER` or its usual names, else the tests are skipped."""

import os
import shutil
import time

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE = 120  # seconds: the first surface may have to be compiled, on a busy machine
NEEDED = "LUTHIER_BROWSER_NEEDED"  # where it is set, a missing browser is a failure


def find(names):
    return next(filter(None, map(shutil.which, names)), None)


def open_browser():
    """Return a driver, or skip the test with a sentence."""
    binary, program = os.environ.get("LUTHIER_BROWSER") or find(NAMES), find(("chromedriver",))
    try:
        from selenium import webdriver
    except ImportError:
        return _missing("selenium is not installed (`make test` installs it)")
    if not binary or not program:
        return _missing("no browser: `make browser` installs one (Debian, as root), or name one in LUTHIER_BROWSER")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # root has no other choice
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.page_load_strategy = "eager"
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(program))
    driver.set_script_timeout(120)
    screen(driver)
    return driver


def axe_script():
    """Return axe-core, which a package of tests brings along: nothing is fetched."""
    try:
        from axe_core_python.base import AXE_SCRIPT
    except ImportError:
        return _missing("axe-core-python is not installed (`make test` installs it)")
    return AXE_SCRIPT


def screen(driver, width=1280, height=800, *, touch=False):
    """Give the page a size, whatever the window's own; `touch` makes it a screen for thumbs."""
    sizes = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": touch}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", sizes)
    driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": touch})


def _missing(why):
    if os.environ.get(NEEDED):
        pytest.fail(why)
    pytest.skip(why)


def until(driver, script, fine, *arguments):
    """Return what a script says once it is fine."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            found = driver.execute_script(script, *arguments)
        except Exception as error:  # the page is not there yet
            found = error
        else:
            if fine(found):
                return found
        assert time.monotonic() < end, f"{script}: {found}"
        time.sleep(0.03)


def score(driver):
    """Return the score that is shown."""
    return driver.execute_script("return Number(document.getElementById('score').dataset.score)")


def press(driver, selector):
    """Click what a selector finds."""
    driver.execute_script("document.querySelector(arguments[0]).click()", selector)


def axe(driver, *, colors_only=False):
    """Return what axe-core has to say of the page as it is."""
    if not driver.execute_script("return typeof axe === 'object'"):
        driver.execute_script(axe_script())
    return driver.execute_async_script(
        """
        const [only, done] = arguments;
        const options = { resultTypes: ["violations"], ...(only && { runOnly: ["color-contrast"] }) };
        const told = (v) => [v.impact, v.id, v.nodes.slice(0, 5).map((node) => node.html.slice(0, 200))];
        const failed = (error) => done(String(error));
        axe.run(document, options).then((r) => done(r.violations.map(told)), failed);""",
        colors_only,
    )
