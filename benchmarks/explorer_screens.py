"""Pictures of every view of the explorer at four sizes, light and dark: `python benchmarks/explorer_screens.py OUT`.

Lists are synthetic. `--size 390 --theme dark --view surface` makes some of them only.
"""

import argparse
import base64
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "explorer"))
from browser import open_browser, screen

from luthier.cli.main import main as luthier
from luthier.explorer.server import Server
from luthier.explorer.sessions.folders import Folders
from luthier.explorer.sessions.session import Session, read_named
from luthier.explorer.sessions.workspace import Workspace
from luthier.kbest.storage.pool_file import open_pool
from luthier.metrics.loading import load_metric

SIZES = ((390, 844), (768, 1024), (1400, 900), (2560, 1440))
THEMES = ("light", "dark")
PATIENCE = 90
THEME = """
document.documentElement.dataset.theme = arguments[0];
document.dispatchEvent(new Event("themechange"));
"""
KEY = """
const canvas = document.querySelector(".surface-row canvas");
canvas.dispatchEvent(new KeyboardEvent("keydown", { key: arguments[0], bubbles: true }));
"""
READY = {
    "line": "return document.querySelector('#line-readout b')",
    "surface": "return document.querySelector('.surface-row canvas').dataset.ready",
    "tradeoff": "return document.querySelector('#view canvas').dataset.points",
    "traces": "return Number(document.querySelector('#view canvas').dataset.states) > 2",
    "compare": "return document.querySelector('#view table')",
}


def make_lists(folder):
    """Write lists, held-out lists, a start and two runs into a folder."""
    for name, seed in (("dev", 1), ("test", 2)):
        luthier(
            [
                "synthetic",
                "lists",
                f"{folder}/{name}",
                "--sentences",
                "200",
                "--k",
                "60",
                "--seed",
                str(seed),
                "--quiet",
            ]
        )
        lists = [f"{folder}/{name}/list.moses.gz", "--refs", f"{folder}/{name}/refs.0.txt"]
        luthier(["pool", *lists, "--source", f"{folder}/{name}/source.txt", "-o", f"{folder}/{name}.arrow", "--quiet"])
    common = [f"{folder}/dev.arrow", "--method"]
    luthier(["tune", *common, "mert", "--heldout", f"{folder}/test.arrow", "--resamples", "40",
             "--trace", f"{folder}/mert.jsonl", "-o", f"{folder}/mert.txt", "--quiet"])  # fmt: skip
    luthier(["tune", *common, "pro", "--folds", "3", "-o", f"{folder}/pro.txt", "--quiet"])
    luthier(["tune", *common, "mert", "--metric", "chrf", "-o", f"{folder}/chrf.txt", "--quiet"])


def places(folder):
    """Yield what is served, by name."""
    pool = open_pool(f"{folder}/dev.arrow")
    paths = [f"{folder}/{name}" for name in ("dev/weights.txt", "mert.txt", "pro.txt")]
    yield "session", Session(
        pool, load_metric("bleu"), read_named(paths, pool), title="dev.arrow", traces=[f"{folder}/mert.jsonl"],
        heldout=open_pool(f"{folder}/test.arrow"), seed=1, threads=2,
    )  # fmt: skip
    yield "runs", Workspace(None, Folders([folder]), load_metric("bleu"), seed=1, threads=2)


def until(driver, script):
    """Wait for a script to be true."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            if driver.execute_script(script):
                return
        except Exception as error:
            if time.monotonic() > end:
                raise error from None
        assert time.monotonic() < end, script
        time.sleep(0.05)


def take(driver, path, *, whole):
    """Save what is seen, or the whole page where it is one column."""
    time.sleep(0.5)
    found = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": whole, "format": "png"})
    Path(path).write_bytes(base64.b64decode(found["data"]))
    print(path)


def choose_cell(driver):
    """Go in until cells are shown, take the one of the weights, wait for the region."""
    cells = "return document.querySelector('#surface-readout').textContent.includes('cells, exactly')"
    for _ in range(20):
        ready = driver.execute_script(READY["surface"])
        driver.execute_script("document.querySelector('#zoom-in').click()")
        until(driver, f"{READY['surface']} !== {ready!r}")
        if driver.execute_script(cells):
            break
    driver.execute_script(KEY, "ArrowRight")
    driver.execute_script(KEY, "Enter")
    until(driver, "return document.querySelector('.cell-about h3')")
    until(driver, "return document.querySelector('.surface-row canvas').dataset.region")


def picture_session(driver, address, wanted, out):
    """Save every view of a session."""
    for width, height in wanted.sizes:
        screen(driver, width, height, touch=width < 900)
        for theme in wanted.themes:
            driver.get("about:blank")
            driver.get(address)
            until(driver, "return document.querySelector('#score')?.textContent")
            driver.execute_script("document.querySelector('#tour-leave')?.click()")
            driver.execute_script(THEME, theme)
            until(driver, "return document.querySelector('.chip:not([hidden])')")
            driver.execute_script("document.querySelector('.chip.most, .chip:not([hidden])').click()")
            until(driver, "return document.querySelector('.row')")
            driver.execute_script("document.querySelector('.row').click()")
            for view in wanted.views or driver.execute_script(
                "return [...document.querySelectorAll('#tabs button')].map((tab) => tab.id.slice(4))"
            ):
                driver.execute_script(f"document.querySelector('#tab-{view}').click()")
                if view == "compare":
                    driver.execute_script("document.querySelector('#compare').click()")
                if view == "tradeoff":
                    driver.execute_script("document.querySelector('#tradeoff-run').click()")
                until(driver, READY.get(view, "return true"))
                if view == "surface":
                    choose_cell(driver)
                take(driver, out / f"{view}-{width}x{height}-{theme}.png", whole=width < 900)


def picture_runs(driver, address, wanted, out):
    """Save the table of runs, two of them side by side."""
    for width, height in wanted.sizes:
        screen(driver, width, height, touch=width < 900)
        for theme in wanted.themes:
            driver.get("about:blank")
            driver.get(address)
            until(driver, "return document.querySelectorAll('.runs tbody tr').length > 3")
            driver.execute_script(THEME, theme)
            driver.execute_script(
                "[...document.querySelectorAll('.runs tbody input')].slice(0, 2).forEach((box) => box.click())"
            )
            until(driver, "return document.querySelector('#beside-table')")
            take(driver, out / f"runs-{width}x{height}-{theme}.png", whole=False)


def main():
    """Make the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", type=int, action="append", help="a width, such as 390")
    parser.add_argument("--theme", action="append", choices=THEMES)
    parser.add_argument("--view", action="append")
    parser.add_argument("--lists", help="a folder that keeps the lists from one time to the next")
    options = parser.parse_args()
    options.sizes = [size for size in SIZES if not options.size or size[0] in options.size]
    options.themes, options.views = options.theme or THEMES, [v for v in options.view or [] if v != "runs"]
    options.out.mkdir(parents=True, exist_ok=True)
    driver = open_browser()
    with tempfile.TemporaryDirectory() as made:
        folder = options.lists or made
        if not Path(folder, "chrf.txt").exists():
            make_lists(folder)
        for name, place in places(folder):
            if options.view and (name == "runs") != ("runs" in options.view) and not (name != "runs" and options.views):
                continue
            server = Server(place)
            thread = threading.Thread(target=server.run)
            thread.start()
            try:
                (picture_runs if name == "runs" else picture_session)(driver, server.address, options, options.out)
            finally:
                server.stop()
                thread.join()
    driver.quit()


if __name__ == "__main__":
    main()
