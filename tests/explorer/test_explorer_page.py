"""The page in a real browser: what a user drags, clicks and reads, against what the session says."""

import base64
import csv
import io
import itertools
import json
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from browser import axe, press, score, screen, until
from PIL import Image
from scipy.spatial import ConvexHull
from served import ARABIC, HOSTILE, ask, changed, make_pool, make_session, serving

from luthier.explorer.app import SCRIPTS, page_text
from luthier.explorer.endpoints import surface
from luthier.explorer.report_file import IMPORT, write_report
from luthier.kbest.storage.pool_file import save_pool
from luthier.kbest.weights import Weights, write_weights

N_FEATURES = 14  # ten that matter, two that do not, two bins
VIEWS = ("line", "surface", "tradeoff", "compare", "traces", "curves")
SHOWN = {  # whether a view has what it asked for
    "line": "return document.querySelector('#line-readout b')",
    "surface": "return document.querySelector('.surface-row canvas').dataset.ready",
    "tradeoff": """
        const [run, canvas] = [document.querySelector('#tradeoff-run'), document.querySelector('#view canvas')];
        if (!canvas.dataset.points && !run.disabled) run.click();
        return canvas.dataset.points;""",
    "traces": "return Number(document.querySelector('#view canvas').dataset.states) > 2",
    "curves": "return document.querySelector('#view select')",
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "trace.jsonl"
    same = {"seed": 1, "restart": 0, "heldout_gain": 19.0, "did": "x"}
    states = [{**same, "step": i, "gain": 20.0 + i, "weights": [0.1 * i] * N_FEATURES} for i in range(3)]
    path.write_text("".join(json.dumps(state) + "\n" for state in states))
    return path


@pytest.fixture(scope="module")
def server(trace):
    with serving(make_session(binned=True, traces=[str(trace)], heldout=make_pool(6))) as found:
        yield found


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
    until(page, "return document.getElementById('score').dataset.score", lambda now: f"{float(now):.2f}" == cell)
    address = until(page, "return location.href", lambda text: "surface" in text)
    shown = score(page)
    page.get("about:blank")
    page.get(address.replace("#", f"#token={server.token}&"))
    until(page, "return document.getElementById('score').dataset.score", lambda now: now and float(now) == shown)
    assert page.execute_script("return document.getElementById('tab-surface').getAttribute('aria-selected')") == "true"
    assert "token" not in page.current_url


def saved(driver, *selectors):
    """Return the files that buttons save, by name: bytes."""
    found = driver.execute_async_script(
        """
        const done = arguments[arguments.length - 1], blobs = [], files = [];
        const make = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
        URL.createObjectURL = (blob) => { blobs.push(blob); return "blob:kept"; };
        HTMLAnchorElement.prototype.click = function () {
          const reader = new FileReader(), name = this.download;
          reader.onload = () => {
            files.push([name, reader.result.split(",")[1]]);
            if (files.length === arguments_.length) {
              URL.createObjectURL = make;
              HTMLAnchorElement.prototype.click = click;
              done(files);
            }
          };
          reader.readAsDataURL(blobs.pop());
        };
        const arguments_ = arguments[0];
        for (const selector of arguments_) document.querySelector(selector).click();""",
        selectors,
    )
    return {name: base64.b64decode(content) for name, content in found}


def table(content):
    return list(csv.reader(io.StringIO(content.decode())))


def colors_at(driver, places):
    """Return what is painted at places of the surface, each in shares of its inside."""
    return driver.execute_script(
        """
        const canvas = document.querySelector(".surface-row canvas"), context = canvas.getContext("2d");
        const [left, top, width, height] = [62, 24, canvas.width - 62 - 96, canvas.height - 24 - 40];
        const all = context.getImageData(0, 0, canvas.width, canvas.height).data;
        const at = ([x, y]) => 4 * (Math.floor(top + (1 - y) * height) * canvas.width + Math.floor(left + x * width));
        return arguments[0].map((place) => [0, 1, 2].map((c) => all[at(place) + c]));""",
        places,
    )


def scale(driver, scores, ends, better):
    """Return the colours that the page's scale has for scores."""
    return driver.execute_async_script(
        """
        const [scores, [low, high], better, done] = arguments;
        import("/colors.js").then(({ scaleColor, shareOf }) => {
          done(scores.map((score) => scaleColor(shareOf(score, low, high, better))));
        });""",
        np.asarray(scores).tolist(), [float(end) for end in ends], better,
    )  # fmt: skip


def show_surface(page):
    press(page, "#tab-surface")
    until(page, "return document.querySelector('.surface-row canvas').dataset.ready", bool)
    page.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(() => arguments[0]()))")


def test_the_picture_is_the_raster_value_by_value(page, server, monkeypatch, tmp_path, run_cli):
    """Of the command, at every pixel; each is painted in the colour of its value."""
    monkeypatch.setattr(surface, "MOST_CELLS", 0)
    problem, start = server.session.problem, server.session.start
    show_surface(page)
    rows = np.array(table(saved(page, "#view .export button[title*='CSV']")["surface.csv"])[1:], float)
    n = int(np.sqrt(len(rows)))
    limits, _ = ask(server, "surface", axes=[0, 1], pixels=16)
    save_pool(problem.pool, tmp_path / "pool.arrow")
    write_weights(Weights.from_vector(problem.names, start), tmp_path / "w.txt")
    ends = (np.reshape(limits["limits"], (2, 2)) + np.array(limits["origin"])[:, None]).tolist()
    window = [f"--window={problem.names[i]}={low!r}:{high!r}" for i, (low, high) in enumerate(ends)]
    code, _, err = run_cli(
        "surface", tmp_path / "pool.arrow", "--weights", tmp_path / "w.txt", "--axis", problem.names[0], "--axis",
        problem.names[1], *window, "--raster", n, "-o", tmp_path / "raster.tsv",
    )  # fmt: skip
    assert code == 0, err
    said = [line.split("\t") for line in (tmp_path / "raster.tsv").read_text().splitlines() if line[0] != "#"]
    said = np.array(said[1:], float)
    np.testing.assert_array_equal(rows[:, 2], said[:, -1])
    np.testing.assert_allclose(rows[:, :2], said[:, :2], rtol=1e-12, atol=1e-12)
    ends, better = (rows[:, 2].min(), rows[:, 2].max()), problem.metric.higher_is_better
    values, step = rows[:, 2].reshape(n, n), n // 12
    # off the cross in the middle; a pixel of the screen shows one of the points about it
    points = [
        (i, j)
        for i in range(3, n - 1, step)
        for j in range(3, n - 1, step)
        if min(abs(2 * i - n), abs(2 * j - n)) > n / 10
    ]
    painted = colors_at(page, [((i + 0.5) / n, (j + 0.5) / n) for i, j in points])
    for color, (i, j) in zip(painted, points, strict=True):
        assert color in scale(page, values[j - 1 : j + 2, i - 1 : i + 2].ravel(), ends, better)


def test_cells_are_painted_in_the_colours_of_their_scores(page, server):
    show_surface(page)
    values, arrays = ask(server, "surface", axes=[0, 1])
    assert values["form"] == "cells"
    corners, offsets, scores = arrays["corners"].reshape(-1, 2), arrays["offsets"], arrays["scores"]
    lines = np.array(table(saved(page, "#view .export button[title*='CSV']")["surface.csv"])[1:], float)
    np.testing.assert_array_equal(lines[:, 1:3], corners + server.session.start[[0, 1]])
    np.testing.assert_array_equal(lines[:, 3], np.repeat(scores, np.diff(offsets)))
    low, size = np.array(values["limits"])[[0, 2]], np.diff(np.reshape(values["limits"], (2, 2))).ravel()
    polygons = [(corners[a:b] - low) / size for a, b in itertools.pairwise(offsets)]
    centres = np.array([polygon.mean(axis=0) for polygon in polygons])
    inside = [ConvexHull(polygon).equations[:, :2] @ centre for polygon, centre in zip(polygons, centres, strict=True)]
    rooms = [-(part + ConvexHull(p).equations[:, 2]).max() for part, p in zip(inside, polygons, strict=True)]
    large = np.flatnonzero((np.array(rooms) > 0.02) & (np.abs(centres - 0.5).max(axis=1) > 0.06))
    assert len(large) > 5
    expected = scale(page, scores[large], (scores.min(), scores.max()), server.session.problem.metric.higher_is_better)
    assert colors_at(page, centres[large].tolist()) == expected


def test_what_is_saved_can_be_opened(page, server):
    slide(page, 0, ["\ue010"])  # to the end
    until(page, "return document.querySelectorAll('.row').length", bool)
    press(page, ".row")
    until(page, "return document.querySelector('.winner')", bool)
    names = server.session.problem.names
    buttons = [f"#view .export button[title*='{kind}']" for kind in ("PNG", "SVG", "CSV")]
    for view in VIEWS:
        press(page, f"#tab-{view}")
        if view == "compare":
            press(page, "#compare")
            until(page, "return document.querySelectorAll('#compare-rows tbody tr').length", bool)
            assert len(table(saved(page, "#view button[title*='CSV']")["comparison.csv"])) == 4
            continue
        until(page, SHOWN[view], bool)
        until(page, "return document.querySelector('#view canvas').dataset.painted", bool)
        if view == "surface":
            show_surface(page)
        files = {name.rpartition(".")[2]: content for name, content in saved(page, *buttons).items()}
        assert Image.open(io.BytesIO(files["png"])).size[0] > 300
        assert ET.fromstring(files["svg"].decode()).tag.endswith("svg")
        assert len(table(files["csv"])) > 2
    found = saved(page, "#save-weights", "#changes button[title*='CSV']", "#sentence button[title*='CSV']")
    weights = [line.split(" ") for line in found["weights.txt"].decode().splitlines()]
    assert [name for name, _ in weights] == list(names)
    said, _ = ask(server, "select", weights=changed(np.array([float(w) for _, w in weights]), server.session.start))
    assert score(page) == said["score"]
    assert len(table(found["changes.csv"])) == 1 + said["changed"]


def test_the_fan_and_the_derivation_open(page, server):
    page.execute_script("location.hash = 's=' + encodeURIComponent(JSON.stringify({sentence: 4})); location.reload()")
    until(page, "return document.querySelectorAll('details[data-part=tree] li').length", lambda n: n == 2)
    assert page.execute_script("return document.querySelectorAll('.legend li').length") == 0  # not asked for yet
    page.execute_script("document.querySelectorAll('#sentence details').forEach((part) => { part.open = true; })")
    said, _ = ask(server, "fan", sentence=4, axes=[0, 1])
    texts = until(page, "return [...document.querySelectorAll('.legend li span')].map((i) => i.textContent)", bool)
    assert texts == [cone["text"] for cone in said["cones"]]
    until(page, "return document.querySelector('.fan canvas').dataset.painted", bool)
    rules = page.execute_script("return [...document.querySelectorAll('.tree code')].map((i) => i.textContent)")
    assert rules == [use["rule"] for use in ask(server, "sentence", sentence=4)[0]["derivation"]]


def test_the_curves_of_bins(page, server):
    press(page, "#tab-curves")
    until(page, "return document.querySelector('#view select')?.textContent", lambda text: text == "words")
    rows = table(saved(page, "#view .export button[title*='CSV']")["curve.csv"])
    (curve,) = ask(server, "curves")[0]["curves"]
    assert rows[1:] == [[bin_["name"], f"{bin_['mean']:g}", f"{bin_['weight']:g}"] for bin_ in curve["bins"]]


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
    cells = until(
        page, "return [...document.querySelectorAll('#compare-rows tbody tr')].map((r) => r.textContent)", bool
    )
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
    until(page, "return document.querySelector('.readout').textContent", lambda text: "step 3: gain 30.00," in text)


def test_every_view_is_fit_for_all_readers(page):
    """axe-core finds nothing, light and dark; sliders are told by name, in the browser's own tree."""
    slide(page, 0, ["\ue010"])
    until(page, "return document.querySelectorAll('.row').length", bool)
    press(page, ".row")
    until(page, "return document.querySelector('.winner')", bool)
    for theme in ("dark", "light"):
        features = [{"name": "prefers-color-scheme", "value": theme}]
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        for view in VIEWS:
            press(page, f"#tab-{view}")
            until(page, "return document.querySelector('#view').childElementCount", bool)
            assert axe(page, colors_only=theme == "dark") == [], (theme, view)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    nodes = page.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    sliders = [node for node in nodes if node.get("role", {}).get("value") == "slider"]
    assert len(sliders) == 10
    assert all(node["name"]["value"].startswith("weight of ") for node in sliders)


def test_a_small_screen_shows_everything_and_nothing_leaves_the_host(page, server):
    screen(page, 1024, 700)
    assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert page.execute_script("return document.documentElement.scrollHeight <= innerHeight")
    screen(page)
    asked = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    addresses = {entry["params"]["request"]["url"] for entry in asked if entry["method"] == "Network.requestWillBeSent"}
    home = f"http://127.0.0.1:{server.port}/"
    assert addresses
    assert {url for url in addresses if not url.startswith((home, "about:", "blob:", "data:", "file:"))} == set()


def test_unseen_sentences_stand_beside_after_a_drag(page, server):
    shown = "return document.getElementById('unseen').textContent"
    first = until(page, shown, bool)
    assert first.startswith("24 unseen")
    slide(page, 0, ["\ue010"])
    moved = until(page, shown, lambda text: text != first)
    value = page.execute_script("return document.querySelector('.weight input[type=number]').value")
    found, _ = ask(server, "unseen", weights={"base": 0, "set": [[0, float(value)]]}, against=0)
    assert found["shown"] in moved
    assert found["change"] in moved


@pytest.mark.parametrize("width, height, touch", [(390, 844, True), (768, 1024, True), (2560, 1440, False)])
def test_any_screen_has_all_of_it(page, width, height, touch):
    """Small ones are one column under a headline that stays; sliders are as high as a thumb is wide."""
    screen(page, width, height, touch=touch)
    try:
        assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        boxes = page.execute_script(
            """
            const sides = (b) => [b.left, b.top, b.width, b.height];
            const box = (node) => sides(node.getBoundingClientRect());
            const names = ["#header", "#weights", "#view", "#changes", "#sentence"];
            return [names.map((name) => box(document.querySelector(name))),
              [...document.querySelectorAll(".weight input[type=range]")].map(box)];"""
        )
        parts, sliders = boxes
        assert all(left >= 0 and left + wide <= width + 1 for left, _, wide, _ in [*parts, *sliders])
        if touch:
            tops = [top for _, top, _, _ in parts]
            assert tops == sorted(tops)
            assert all(high >= 36 and wide >= width / 3 for _, _, wide, high in sliders)
            assert all(high >= 300 for _, _, _, high in parts[2:4])  # the picture and the sentences are no slits
            page.execute_script("window.scrollTo(0, document.documentElement.scrollHeight)")
            assert page.execute_script("return document.querySelector('#header').getBoundingClientRect().top") == 0
            assert (
                page.execute_script("return document.querySelector('#sentence').getBoundingClientRect().top") < height
            )
        slide(page, 0, ["\ue014"])
        until(page, "return document.querySelector('#changed').textContent", bool)
    finally:
        screen(page)


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
    until(driver, "return document.querySelectorAll('#compare-rows tbody tr').length", lambda n: n == 2)
    assert [entry["message"] for entry in driver.get_log("browser")] == []


def test_on_paper_pictures_keep_their_shape_and_rows_follow_one_another(page):
    choose = "const named = document.getElementById('named'); named.selectedIndex = 1;"
    page.execute_script(f"{choose} named.dispatchEvent(new Event('change'))")
    until(page, "return document.querySelectorAll('.row').length", lambda n: n > 2)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        fit = "return getComputedStyle(document.querySelector('#view .picture')).objectFit"
        assert page.execute_script(fit) == "contain"
        boxes = page.execute_script(
            """
            const boxes = [...document.querySelectorAll(".row")].map((row) => row.getBoundingClientRect());
            return boxes.map((box) => [box.top, box.bottom]);"""
        )
        assert all(0 <= after[0] - before[1] < 20 for before, after in itertools.pairwise(boxes))
        spare = "return document.querySelector('.rows').getBoundingClientRect().bottom - arguments[0]"
        assert page.execute_script(spare, boxes[-1][1]) < 20
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_scripts_build_upon_earlier_ones_only():
    for place, name in enumerate(SCRIPTS):
        used = {f"{found[1]}.js" for found in IMPORT.findall(page_text(name))}
        assert used <= set(SCRIPTS[:place]), name
        assert "innerHTML" not in page_text(name)
        assert "http" not in page_text(name).replace("http://www.w3.org/", "")
