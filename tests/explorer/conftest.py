"""A browser for the tests of a file, and the page of its `server` in it, which must end without a complaint."""

import pytest
from browser import open_browser, until


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
