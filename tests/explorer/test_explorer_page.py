"""The page in a real browser: what a user drags, clicks and reads, against what the session says."""

import json
import time

import numpy as np
import pytest
from browser import open_browser, screen
from served import ARABIC, HOSTILE, ask, make_session, serving

from luthier.explorer.page_files import SCRIPTS, page_text
from luthier.explorer.report_file import IMPORT, write_report

PATIENCE = 1800  # seconds, as good as endless: the first surface may have to be compiled, on a busy machine

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "trace.jsonl"
    session = make_session()
    states = [
        {
            "seed": 1,
            "restart": 0,
            "step": i,
            "gain": 20.0 + i,
            "heldout_gain": 19.0,
            "did": "x",
            "weights": [0.1 * i] * n,
        }
        for n in [session.problem.n_features]
        for i in range(3)
    ]
    path.write_text("".join(json.dumps(state) + "\n" for state in states))
    return path


@pytest.fixture(scope="module")
def server(trace):
    with serving(make_session(traces=[str(trace)])) as found:
        yield found


@pytest.fixture(scope="module")
def driver():
    found = open_browser()
    yield found
    found.quit()


@pytest.fixture
def page(driver, server):
    driver.get("about:blank")
    driver.get(server.address)
    until(driver, "return document.getElementById('score').textContent", bool)
    yield driver
    assert [entry["message"] for entry in driver.get_log("browser")] == []


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
    return driver.execute_script("return Number(document.getElementById('score').dataset.score)")


def press(driver, selector):
    driver.execute_script("document.querySelector(arguments[0]).click()", selector)


def slide(driver, feature, keys):
    from selenium.webdriver.common.by import By

    slider = driver.find_element(By.CSS_SELECTOR, f'input[type="range"][data-feature="{feature}"]')
    slider.send_keys(*keys)


def test_a_slider_moves_score_and_sentences_by_mouse_and_by_keys(page, server):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    before = score(page)
    slider = page.find_element(By.CSS_SELECTOR, 'input[type="range"][data-feature="0"]')
    ActionChains(page).drag_and_drop_by_offset(slider, -80, 0).perform()
    until(page, "return Number(document.getElementById('score').dataset.score)", lambda now: now != before)
    slide(page, 1, [Keys.ARROW_RIGHT] * 30)
    script = "const s = location.hash.split('s=')[1]; return s ? JSON.parse(decodeURIComponent(s)).set : []"
    weights = until(page, script, lambda found: len(found) == 2)
    said, _ = ask(server, "select", weights={"base": 0, "set": weights}, count=3)
    until(page, "return document.getElementById('score').textContent", lambda text: text == said["shown"])
    assert score(page) == said["score"]
    assert page.execute_script("return document.getElementById('changed').textContent") == f"{said['changed']} changed"
    first = page.execute_script("return document.querySelector('.row b').textContent")
    assert first == said["rows"][0]["id"]
    assert page.execute_script("return document.querySelectorAll('.row').length") < 24
    press(page, "#undo")
    press(page, "#undo")
    until(page, "return Number(document.getElementById('score').dataset.score)", lambda now: now == before)


def test_texts_of_strangers_are_texts(page, server):
    page.execute_script(
        """
        location.hash = 's=' + encodeURIComponent(JSON.stringify({sentence: arguments[0]})); location.reload()""",
        0,
    )
    shown = until(page, "return document.querySelector('.winner').textContent", lambda text: "onerror" in text)
    assert HOSTILE.split()[0] in shown
    assert page.execute_script("return document.querySelectorAll('#sentence img').length") == 0
    assert page.title != "broken"
    page.execute_script("location.hash = 's=' + encodeURIComponent(JSON.stringify({sentence: 1})); location.reload()")
    until(page, "return document.querySelector('#sentence').textContent", lambda text: ARABIC in text)
    assert page.execute_script(
        "return [...document.querySelectorAll('.tree li')].map((i) => i.textContent)[1]"
    ).startswith("[X]")


def test_a_click_on_the_surface_goes_into_its_cell_and_a_link_reopens_it(page, server):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    press(page, "#tab-surface")
    until(page, "return document.querySelector('.surface-row canvas').dataset.ready", bool)
    canvas = page.find_element(By.CSS_SELECTOR, ".surface-row canvas")
    ActionChains(page).move_to_element_with_offset(canvas, 70, -30).click().perform()
    cell = until(page, "return document.querySelector('.cell-about dd')?.textContent", bool)
    until(page, "return document.getElementById('score').dataset.score", lambda now: f"{float(now):.4f}" == cell)
    address = until(page, "return location.href", lambda text: "surface" in text)
    shown = score(page)
    page.get("about:blank")
    page.get(address.replace("#", f"#token={server.token}&"))
    until(page, "return document.getElementById('score').dataset.score", lambda now: now and float(now) == shown)
    assert page.execute_script("return document.getElementById('tab-surface').getAttribute('aria-selected')") == "true"
    assert "token" not in page.current_url


def test_the_picture_is_the_raster_value_by_value(page, server):
    press(page, "#tab-surface")
    until(page, "return document.querySelector('.surface-row canvas').dataset.ready", bool)
    rows = page.execute_async_script("""
        const done = arguments[0], make = URL.createObjectURL;
        URL.createObjectURL = (blob) => { blob.text().then(done); return make(blob); };
        document.querySelector("#view .export button[title*='CSV']").click();""")
    lines = [line.split(",") for line in rows.split("\r\n")[1:] if line]
    state = server.session
    values, arrays = ask(server, "surface", axes=[0, 1])
    assert values["form"] == "cells"
    assert len(lines) == len(arrays["corners"]) // 2
    origin = state.start[[0, 1]]
    np.testing.assert_array_equal(np.array(lines, float)[:, 1:3], arrays["corners"].reshape(-1, 2) + origin)
    assert set(np.array(lines, float)[:, 3]) == set(arrays["scores"].tolist())


def test_line_compare_and_traces(page, server, trace):
    best = until(page, "return document.querySelector('#line-readout b').textContent", bool)
    said, _ = ask(server, "line", axis=0)
    assert best == f"best {server.session.problem.metric.name} {said['best']['shown']}"
    press(page, "#line-best")
    until(
        page, "return document.getElementById('score').dataset.score", lambda now: float(now) == said["best"]["score"]
    )
    press(page, "#tab-compare")
    press(page, "#compare")
    cells = until(page, "return [...document.querySelectorAll('.compare tbody tr')].map((r) => r.textContent)", bool)
    assert [
        cell.startswith(name) for cell, name in zip(cells, ("start.txt", "other.txt", "the weights"), strict=True)
    ] == [True] * 3
    press(page, "#tab-traces")
    until(page, "return document.querySelector('.readout').textContent", lambda text: text.startswith("3 states"))
    page.execute_script("document.querySelector('#view canvas').focus()")
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    page.find_element(By.CSS_SELECTOR, "#view canvas").send_keys(Keys.ARROW_LEFT)
    until(
        page,
        "return document.querySelector('.weight input[type=number]').value",
        lambda text: float(text) == pytest.approx(0.2),
    )
    first = trace.read_text().splitlines()[0]
    with trace.open("a") as file:  # the tuner has found another
        file.write(json.dumps({**json.loads(first), "step": 3, "gain": 30.0}) + "\n")
    until(page, "return document.querySelector('#view canvas').dataset.states", lambda count: count == "4")
    press(page, "#trace-best")
    until(page, "return document.querySelector('.readout').textContent", lambda text: "step 3: gain 30.0000" in text)


def test_every_control_has_a_name_and_texts_stand_out(page):
    """What a screen reader is told, by the browser's own tree; contrast as WCAG counts it."""
    for theme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": theme}]
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        contrasts = page.execute_script("""
            const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
            const linear = (v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
            const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
            const ground = (e) => {
              for (; e; e = e.parentElement) {
                const c = rgb(getComputedStyle(e).backgroundColor);
                if (c.length < 4 || c[3] > 0) return c;
              }
              return [255, 255, 255];
            };
            const found = [];
            for (const e of document.querySelectorAll("button, h2, p, span, b, label, output, td, th")) {
              if (!e.offsetParent || !e.textContent.trim() || e.closest(":disabled, .old, .lock")) continue;
              const [a, b] = [light(rgb(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
              found.push([(a + 0.05) / (b + 0.05), e.className, e.textContent.slice(0, 30)]);
            }
            return found.filter(([ratio]) => ratio < 4.5);""")
        assert contrasts == [], theme
    nodes = page.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    controls = ("button", "slider", "spinbutton", "textbox", "searchbox", "combobox", "tab", "image")
    nameless = [
        node["nodeId"] for node in nodes
        if not node.get("ignored") and node["role"]["value"] in controls and not node.get("name", {}).get("value")
    ]  # fmt: skip
    assert nameless == []
    sliders = [node for node in nodes if node.get("role", {}).get("value") == "slider"]
    assert len(sliders) == 10
    assert all(node["name"]["value"].startswith("weight of ") for node in sliders)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_small_screen_shows_everything_and_nothing_leaves_the_host(page, server):
    screen(page, 1024, 700)
    assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert page.execute_script("return document.documentElement.scrollHeight <= innerHeight")
    screen(page)
    asked = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    addresses = {entry["params"]["request"]["url"] for entry in asked if entry["method"] == "Network.requestWillBeSent"}
    home = f"http://127.0.0.1:{server.port}/"
    assert addresses
    assert {url for url in addresses if not url.startswith((home, "about:", "blob:", "data:"))} == set()


def test_a_report_opens_from_disk(driver, server, tmp_path):
    write_report(server.session, str(tmp_path / "report.html"), [(0, 1)])
    driver.get_log("browser")
    driver.get((tmp_path / "report.html").as_uri())
    until(driver, "return document.getElementById('score').textContent", bool)
    driver.execute_script(
        "const s = document.getElementById('named'); s.value = '1'; s.dispatchEvent(new Event('change'))"
    )
    said = server.session.scores[1]
    until(driver, "return Number(document.getElementById('score').dataset.score)", lambda now: now == said)
    press(driver, ".row")
    until(driver, "return document.querySelector('.winner')?.textContent", bool)
    press(driver, "#tab-surface")
    until(driver, "return document.querySelector('.surface-row canvas').dataset.ready", bool)
    press(driver, "#tab-compare")
    until(driver, "return document.querySelectorAll('.compare tbody tr').length", lambda n: n == 2)
    assert [entry["message"] for entry in driver.get_log("browser")] == []


def test_scripts_build_upon_earlier_ones_only():
    for place, name in enumerate(SCRIPTS):
        used = {f"{found[1]}.js" for found in IMPORT.findall(page_text(name))}
        assert used <= set(SCRIPTS[:place]), name
        assert "innerHTML" not in page_text(name)
        assert "http" not in page_text(name).replace("http://www.w3.org/", "")
