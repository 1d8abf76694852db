"""The page of a served model, in a browser: translations, explanations and errors; two sizes, light and dark."""

import threading

import pytest
from browser import axe, open_browser, press, screen, until

from luthier.decoding.chart.options import SearchOptions
from luthier.grammar.extraction.options import Limits
from luthier.jobs.trained_model import ModelSettings, TranslationModel
from luthier.jobs.translate import Answer, Explanation
from luthier.kbest.weights import Weights
from luthier.serving import translator as translator_module
from luthier.serving.service import Service
from luthier.serving.translator import Translator

pytestmark = [pytest.mark.slow, pytest.mark.compiled]
MODEL = TranslationModel(ModelSettings(Limits(), ("log",), SearchOptions()), None, (), Weights({}))
TEXT = "return document.getElementById(arguments[0]).textContent"


def shout(model, lines, wanted, *, threads):
    """Stand for the engine, which the page does not see."""
    why = Explanation("<b>a</b>", -1.5, (), {"LanguageModel": -1.5}, "B", 0.25, {"LanguageModel": 0.25}, ())
    return [Answer(((line.upper(), 0.0),), why if wanted.explain else None) for line in lines]


@pytest.fixture
def page(monkeypatch):
    monkeypatch.setattr(translator_module, "answer", shout)
    service = Service(Translator(MODEL), token="secret")
    thread = threading.Thread(target=service.run)
    thread.start()
    driver = open_browser()
    try:
        driver.get(service.address)
        until(driver, "return document.readyState", lambda state: state == "complete")
        yield driver
        said = [entry["message"] for entry in driver.get_log("browser")]
        assert [message for message in said if "status of 400" not in message] == []  # of the line that is too long
    finally:
        driver.quit()
        service.stop()
        thread.join(600)


def test_the_page_translates_and_explains(page):
    put = "document.getElementById('source').value = arguments[0]"
    page.execute_script(put, "<i>ein</i>\n\nzwei")
    press(page, "button[type=submit]")
    until(page, TEXT, lambda found: found == "<I>EIN</I>\n\nZWEI", "target")
    until(page, TEXT, lambda found: found.startswith("1 requests answered, 0 refused"), "load")
    press(page, "#why")
    said = until(page, TEXT, bool, "explanation")
    assert said.splitlines()[:3] == ["source   <b>a</b>", "score    -1.5000", "second   B"]
    page.execute_script(put, "wort " * 201)
    press(page, "button[type=submit]")
    until(page, TEXT, lambda found: found == "expected at most 200 words in a line, found 201", "target")
    for width, scheme in ((1280, "light"), (390, "dark")):
        screen(page, width, 800, touch=width < 500)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        assert page.execute_script("return document.documentElement.scrollWidth") <= width
        assert axe(page) == []
