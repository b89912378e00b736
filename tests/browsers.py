"""A real browser, in which tests open pages."""

import shutil
from typing import Any

import pytest


def browser() -> Any:
    """A new chromium with a profile of its own; skips where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver")
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("no chromium with chromedriver here; apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    from selenium.common.exceptions import WebDriverException

    try:
        return webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    except WebDriverException as error:
        pytest.skip(f"chromium does not start here: {error.msg}")
