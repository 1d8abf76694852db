"""The part of bench_explorer.py that needs a server in a process of its own: the page in a browser, and its memory."""

import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

MOVES, RUNS = 150, 500
PATIENCE = 600  # seconds
READY = """
return document.querySelector("#line-readout b")?.textContent && document.querySelector("canvas").dataset.painted;
"""
# From the event to the frame in which its score is painted: what comes after the callback of a frame comes after it.
WATCH = """
const slider = document.querySelector(`input[type="range"][data-feature="${arguments[0]}"]`);
let began = null;
window.moves = [];
for (const kind of ["keydown", "pointermove"])
  slider.addEventListener(kind, (event) => { began ??= event.timeStamp; }, true);
new MutationObserver(() => {
  if (began === null) return;
  const from = began;
  began = null;
  requestAnimationFrame(() => {
    const after = new MessageChannel();
    after.port1.onmessage = () => window.moves.push(performance.now() - from);
    after.port2.postMessage(0);
  });
}).observe(document.getElementById("score"), { childList: true });
slider.focus();
const box = slider.getBoundingClientRect();
return [box.left, box.top + box.height / 2, box.width];
"""


def page_side(pool, start, asking, *, browser, requests):
    """Start 'luthier explore' on saved lists; time the page, or watch its memory; print both."""
    from luthier.kbest.storage.pool_file import save_pool
    from luthier.kbest.weights import Weights, write_weights

    with tempfile.TemporaryDirectory() as folder:
        save_pool(pool, f"{folder}/pool.arrow")
        write_weights(Weights.from_vector(pool.features.names, start), f"{folder}/weights.txt")
        command = [sys.executable, "-m", "luthier.cli.main", "explore", "pool.arrow", "--weights", "weights.txt"]
        began = time.perf_counter()
        with subprocess.Popen([*command, "--no-browser"], cwd=folder, stdout=subprocess.PIPE, text=True) as running:
            try:
                address = running.stdout.readline().strip()
                listening = time.perf_counter() - began
                if browser:
                    _time_page(address, listening, asking.moved)
                if requests:
                    _watch_memory(running.pid, address, asking, requests)
            finally:
                running.terminate()


def runs_side(pool, start):
    """Open a folder of 500 runs, each with its record and its weights; print when the table is there."""
    from luthier.kbest.weights import Weights, write_weights

    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng(0)
        for i in range(RUNS):
            weights = start + rng.normal(size=len(start)) * 0.1
            write_weights(Weights.from_vector(pool.features.names, weights), f"{folder}/run{i}.txt")
            record = {"kind": "tune", "state": "done", "tuner": "mert()", "metric": "bleu", "seed": i}
            scores = {"scores": {"tuned": 40 + rng.normal(), "before": 39}, "answers": [f"run{i}.txt"]}
            Path(f"{folder}/run{i}.run.json").write_text(json.dumps({**record, **scores}))
        driver = _chromium()
        began = time.perf_counter()
        command = [sys.executable, "-m", "luthier.cli.main", "explore", folder, "--no-browser"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
            try:
                address = running.stdout.readline().strip()
                listening = time.perf_counter() - began
                driver.get(address)
                _until(driver, "return document.querySelectorAll('.runs tbody tr').length === arguments[0]", RUNS)
                print(
                    f"a folder of {RUNS} runs: from the command to its address {listening:.1f} s, to the whole table "
                    f"{time.perf_counter() - began:.1f} s (wanted: 2)"
                )
            finally:
                running.terminate()
                driver.quit()


def _chromium():
    from selenium import webdriver

    binary = os.environ.get("LUTHIER_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900"):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    driver.get("about:blank")
    return driver


def _time_page(address, listening, feature):
    driver = _chromium()
    try:
        began = time.perf_counter()
        driver.get(address)
        _until(driver, READY)
        picture = time.perf_counter() - began
        print(
            f"from the command to its address {listening:.1f} s, from there to the first picture {picture:.1f} s: "
            f"{listening + picture:.1f} s together (wanted: 1.5 from the address, warm)"
        )
        time.sleep(2)  # what each weight alone would gain, and garbage of the start
        left, height, width = driver.execute_script(WATCH, feature)
        for name, move in (("drag", _drag), ("arrow keys", _press)):
            found = move(driver, left, height, width)
            median, p95 = np.percentile(found, [50, 95])
            print(
                f"{name}: {len(found)} moves, from the event to the painted frame {median:.0f} ms (median; wanted 30), "
                f"{p95:.0f} ms (p95; wanted 50)"
            )
    finally:
        driver.quit()


def _until(driver, script, *arguments):
    end = time.monotonic() + PATIENCE
    while not driver.execute_script(script, *arguments):
        assert time.monotonic() < end, script
        time.sleep(0.005)


def _mouse(driver, kind, x, y):
    event = {"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1}
    driver.execute_cdp_cmd("Input.dispatchMouseEvent", event)


def _drag(driver, left, height, width):
    """Drag the thumb from the middle to the right and back, pixel by pixel."""
    x = left + width / 2
    _mouse(driver, "mousePressed", x, height)
    time.sleep(0.3)
    driver.execute_script("window.moves.length = 0")
    for i in range(MOVES):
        x += 1 if i % 80 < 40 else -1
        _mouse(driver, "mouseMoved", x, height)
        _until(driver, "return window.moves.length > arguments[0]", i)
    _mouse(driver, "mouseReleased", x, height)
    time.sleep(0.5)
    return driver.execute_script("return window.moves")[:MOVES]


def _press(driver, *_):
    driver.execute_script("window.moves.length = 0")
    for i in range(MOVES):
        for kind in ("rawKeyDown", "keyUp"):
            event = {"type": kind, "key": "ArrowRight", "code": "ArrowRight", "windowsVirtualKeyCode": 39}
            driver.execute_cdp_cmd("Input.dispatchKeyEvent", event)
        _until(driver, "return window.moves.length > arguments[0]", i)
    return driver.execute_script("return window.moves")


def _watch_memory(process, address, asking, requests):
    """Send many requests of all kinds that a page sends again and again; print memory by their number."""
    port, _, token = address.rpartition(":")[2].partition("/#token=")
    connection = http.client.HTTPConnection("127.0.0.1", int(port))
    heads = {"X-Luthier-Token": token, "Content-Type": "application/json"}
    limits = np.array(asking.told("surface", axes=asking.axes, pixels=16, form="raster")["limits"])
    marks, seen = {1, *np.linspace(requests / 10, requests, 10).astype(int).tolist()}, []
    for i in range(requests):
        body = {"weights": asking.dragged(i % 57)}
        name = ("select", "select", "select", "line", "sentence", "cell", "surface")[i % 7]
        if name == "line":
            body["axis"] = int(asking.usable[i % len(asking.usable)])
        elif name == "sentence":
            body["sentence"] = i % asking.session.problem.pool.n_sentences
        elif name in ("cell", "surface"):
            body = {"axes": asking.axes, "window": (limits * (0.02 + 0.001 * (i % 10))).tolist(), "pixels": 32}
            body |= {"x": 0.0, "y": 0.0} if name == "cell" else {}
        connection.request("POST", f"/api/{name}", json.dumps(body), heads)
        reply = connection.getresponse()
        content = reply.read()
        assert reply.status == 200, content
        if i + 1 in marks:
            seen.append((i + 1, _resident(process)))
    told = ", ".join(f"{count:,}: {megabytes:.0f}" for count, megabytes in seen)
    print(f"memory of the server in MB after so many requests (wanted: at most 1,000, flat): {told}")


def _resident(process):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text()).group(1)) / 1024
