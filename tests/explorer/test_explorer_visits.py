"""The page in a real browser: folders of runs, the way by keyboard, the tour, words, and the frame of a notebook."""

import json
import os
import socket
import urllib.request

import pytest
from browser import axe, press, score, screen, until
from served import HOSTILE, make_pool, make_session, serving, weights_of

from luthier.explorer.notebook import Explorer, explore
from luthier.explorer.report_file import unpack_record
from luthier.explorer.sessions.folders import Folders
from luthier.explorer.sessions.workspace import Workspace
from luthier.kbest.storage.pool_file import save_pool
from luthier.kbest.weights import Weights, write_weights
from luthier.metrics.loading import load_metric

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server():
    with serving(make_session(heldout=make_pool(6))) as found:
        yield found


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with lists, two runs on them that were recorded by hand, weights without a record, and one that runs."""
    home = tmp_path_factory.mktemp("runs")
    pool = make_pool()
    save_pool(pool, home / "pool.arrow")
    metric = load_metric("bleu")
    about = {"kind": "tune", "tuner": "mert()", "signature": metric.signature, "metric": "bleu", "seed": 1}
    lists = {"name": "pool.arrow", "digest": pool.digest(), "sentences": 24}
    for seed, name in enumerate(("first", "second")):
        write_weights(Weights.from_vector(pool.features.names, weights_of(pool, seed)), home / f"{name}.txt")
        scores = {"scores": {"tuned": 40.0 + seed, "before": 39.0}, "unseen": {"score": 30.0 - seed, "before": 29.5}}
        done = {**about, "state": "done", "ended": f"2026-01-0{seed + 1}T00:00:00+00:00", "lists": lists}
        record = {**done, **scores, "answers": [f"{name}.txt"]}
        (home / f"{name}.run.json").write_text(json.dumps(record))
    write_weights(Weights.from_vector(pool.features.names, weights_of(pool, 5)), home / "old.txt")
    (home / "study").mkdir()
    (home / "study" / "units.jsonl").write_text("{}\n")
    (home / "study" / "tables.md").write_text(
        f"# A study\n\nScores.\n\n| tuner | BLEU |\n| --- | --: |\n| {HOSTILE} | 41.25 |\n"
    )
    return home


@pytest.fixture
def table_of_runs(driver, runs):
    with serving(Workspace(None, Folders([str(runs)]), load_metric("bleu"), seed=3)) as place:
        driver.get("about:blank")
        driver.get(place.address)
        until(driver, "return document.querySelectorAll('.runs tbody tr').length", lambda n: n >= 4)
        yield driver
        assert [entry["message"] for entry in driver.get_log("browser")] == []
        driver.get("about:blank")


NAMES = "return [...document.querySelectorAll('.runs tbody th button')].map((b) => b.textContent)"


def test_runs_are_sorted_found_chosen_compared_and_opened(table_of_runs, runs):
    page = table_of_runs
    press(page, "#sort-tuned")
    assert page.execute_script(NAMES)[:2] == ["second", "first"]
    press(page, "#sort-unseen")
    assert page.execute_script(NAMES)[:2] == ["first", "second"]
    assert page.execute_script("return document.querySelector('#sort-unseen').closest('th').ariaSort") == "descending"
    texts = page.execute_script("return [...document.querySelectorAll('.runs tbody tr')].map((r) => r.textContent)")
    (old,) = [text for text in texts if text.startswith("old.txt")]
    assert old.count("unknown") == 6
    running = {"kind": "tune", "state": "running", "process": os.getpid(), "machine": socket.gethostname()}
    (runs / "new.run.json").write_text(json.dumps({**running, "so_far": {"states": 7, "gain": 41.0}}))
    shown = "return document.querySelector('.runs').textContent"
    until(page, shown, lambda text: "running: 7 states, 41.00" in text)
    (runs / "new.run.json").unlink()
    until(page, shown, lambda text: "running" not in text)
    for name in ("first", "second"):
        page.execute_script(f"document.querySelector('input[aria-label=\"choose {name}\"]').click()")
    heads = "return [...document.querySelectorAll('#beside-table thead th')].map((head) => head.textContent)"
    until(page, heads, lambda found: found == ["feature", "first", "second"])
    press(page, "#runs-compare")
    until(page, "return document.querySelectorAll('#compare-rows tbody tr').length", lambda n: n == 2)
    assert page.execute_script("return document.querySelectorAll('#compare-weights tbody tr').length") > 3
    assert page.execute_script("return document.getElementById('named').options.length") == 2
    page.refresh()
    until(page, "return document.getElementById('named')?.options.length", lambda n: n == 2)
    press(page, "#back-to-runs")
    until(page, NAMES, lambda names: "first" in names)


def test_a_study_shows_its_tables(table_of_runs):
    press(table_of_runs, '[id^="open-"][data-kind="study"]')
    until(table_of_runs, "return document.querySelectorAll('#study td').length", lambda n: n == 2)
    shown = table_of_runs.execute_script("return document.getElementById('study').innerText.split('\\n')")
    assert shown[0] == "A study"
    assert any("41.25" in line and HOSTILE in line for line in shown)
    assert table_of_runs.title != "broken"
    assert axe(table_of_runs) == []


@pytest.mark.parametrize("width, height, touch", [(390, 844, True), (768, 1024, True), (2560, 1440, False)])
def test_runs_fit_any_screen_and_all_readers(table_of_runs, width, height, touch):
    page = table_of_runs
    screen(page, width, height, touch=touch)
    try:
        page.execute_script("document.querySelector('.runs tbody input').click()")
        until(page, "return document.querySelector('#beside').textContent", bool)
        assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        assert axe(page) == []
    finally:
        screen(page)


def test_runs_by_keyboard_alone(table_of_runs):
    """From the address bar: tab to a run, open it, move a weight, see its sentences, and go back."""
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    page = table_of_runs

    def keys(*pressed):
        ActionChains(page).send_keys(*pressed).perform()

    def tab_to(selector, most=120):
        for _ in range(most):
            if page.execute_script("return document.activeElement.matches(arguments[0])", selector):
                return
            keys(Keys.TAB)
        raise AssertionError(f"no way by keyboard to {selector}")

    tab_to('input[aria-label="choose first"]')
    keys(Keys.SPACE)
    until(page, "return document.querySelector('#beside-table')", bool)
    tab_to('input[aria-label="choose second"]')
    keys(Keys.SPACE)
    page.execute_script("document.activeElement.blur(); window.focus()")
    tab_to("#runs-open")
    keys(Keys.ENTER)
    until(page, "return document.querySelector('#score')?.textContent", bool)
    before = score(page)
    tab_to("#tour-leave, .weight input[type=range]")
    tab_to(".weight input[type=range]")
    keys(Keys.END)
    until(page, "return Number(document.getElementById('score').dataset.score)", lambda now: now != before)
    until(page, "return document.querySelectorAll('.row').length", bool)
    tab_to("#tab-line")
    keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    until(page, "return document.querySelector('#tab-tradeoff').ariaSelected", lambda now: now == "true")
    tab_to("#tradeoff-run")
    keys(Keys.ENTER)
    until(page, "return document.querySelector('#view canvas').dataset.points", bool)
    tab_to("#view canvas")
    moved = score(page)
    keys(Keys.ARROW_RIGHT)
    until(page, "return Number(document.getElementById('score').dataset.score)", lambda now: now != moved)
    until(page, "return document.querySelectorAll('.row').length", bool)
    tab_to(".row")
    keys(Keys.ENTER)
    until(page, "return document.querySelector('.winner')", bool)
    tab_to('#sentence details[data-part="agree"] summary')
    keys(Keys.ENTER)
    until(
        page, "return document.querySelector('.agreement')?.textContent", lambda text: "other texts agree" in str(text)
    )
    tab_to("#back-to-runs", 300)
    keys(Keys.ENTER)
    until(page, NAMES, lambda names: "first" in names)


def test_the_tour_comes_once_can_be_left_and_recalled(driver, server):
    driver.get("about:blank")
    driver.get(server.address)
    driver.delete_all_cookies()
    driver.refresh()
    title = "return document.querySelector('#tour:not([hidden]) h2')?.textContent"
    assert until(driver, title, bool) == "The score"
    assert axe(driver) == []
    for wanted in ("The weights", "The picture", "What changes", "Why did it win?", None):
        press(driver, "#tour-next")
        assert until(driver, title, lambda found, wanted=wanted: found == wanted) == wanted
    driver.refresh()
    until(driver, "return document.getElementById('score').textContent", bool)
    assert driver.execute_script(title) is None
    press(driver, "button[aria-label=Help]")
    assert axe(driver) == []
    press(driver, "#start-tour")
    assert until(driver, title, bool) == "The score"
    press(driver, "#tour-leave")
    assert driver.execute_script(title) is None


def test_a_word_says_what_it_means_by_keyboard_and_touch(page):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    tip = "const tip = document.getElementById('tip'); return tip.hidden ? '' : tip.textContent"
    words = "return [...document.querySelectorAll('.term')].find((t) => t.textContent === 'against')"
    word = page.execute_script(words)
    while not page.execute_script("return document.activeElement === arguments[0]", word):
        ActionChains(page).send_keys(Keys.TAB).perform()
    assert until(page, tip, bool) == "The weights that changes are counted from."
    page.execute_script("document.activeElement.blur()")
    until(page, tip, lambda text: text == "")
    touched = "arguments[0].dispatchEvent(new PointerEvent('pointerup', { pointerType: 'touch', bubbles: true }))"
    page.execute_script(touched, word)
    assert until(page, tip, bool) == "The weights that changes are counted from."
    words = page.execute_script("return [...document.querySelectorAll('.term')].map((t) => t.title)")
    assert all(text.endswith(".") and text.count(". ") == 0 for text in words)


def test_what_is_made_in_the_background_is_drawn(page):
    """Intervals below sliders, chips on unseen sentences, the region of the line; none of it while a weight moves."""
    until(page, "return document.querySelectorAll('.chip .on-unseen').length", bool)
    until(page, "return document.querySelector('#view canvas').dataset.region", bool)
    until(page, "return document.querySelectorAll('.interval:not([hidden])').length", lambda n: n == 10)
    low, high = page.execute_script(
        """
        const box = document.querySelector('.interval').getBoundingClientRect();
        const all = document.querySelector('.track').getBoundingClientRect();
        return [box.left - all.left, all.right - box.right];"""
    )
    assert low >= 0
    assert high >= 0


def test_a_notebook_shows_the_page_in_a_frame_that_reaches_nothing(driver, server, tmp_path):
    shown = Explorer(server.session, [(0, 1)], 700)
    (tmp_path / "cell.html").write_text(f"<!doctype html><title>cell</title>{shown._repr_html_()}", "utf-8")
    driver.get_log("browser")
    driver.get((tmp_path / "cell.html").as_uri())
    frame = driver.execute_script("return document.querySelector('iframe')")
    assert "allow-same-origin" not in driver.execute_script("return arguments[0].sandbox.value", frame)
    driver.switch_to.frame(frame)
    try:
        until(driver, "return document.getElementById('score').textContent", bool)
        assert score(driver) == server.session.scores[0]
        assert driver.execute_script("try { return parent.document.title } catch { return 'none' }") == "none"
        press(driver, "#tab-surface")
        until(driver, "return document.querySelector('.surface-row canvas').dataset.ready", bool)
    finally:
        driver.switch_to.default_content()
    assert [entry["message"] for entry in driver.get_log("browser")] == []


def test_the_live_page_of_a_notebook_is_started_and_stopped(tmp_path):
    save_pool(make_pool(), tmp_path / "pool.arrow")
    shown = explore(tmp_path / "pool.arrow", weights=[weights_of(make_pool())])
    address = shown.serve()
    assert shown.serve() == address
    assert address in shown._repr_html_()
    with urllib.request.urlopen(address.partition("#")[0]) as reply:
        assert b"Luthier explorer" in reply.read()
    shown.stop()
    shown.save(str(tmp_path / "page.html"))
    assert unpack_record((tmp_path / "page.html").read_text("utf-8"))["session"]["named"][0]["name"] == "weights 1"
