"""The report's page in a real browser: its item browser, a phone, many items."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from figlang.config import DataConfig, PathsConfig
from figlang.runs.predictions import write_predictions
from figlang.tasks import registry as data
from figlang.types import Prediction, Split
from tests.browsers import browser
from tests.report_runs import report

CUT = """return [...document.querySelectorAll('.scroll > table, .panels')].filter((one) => one.getBoundingClientRect().width)
  .filter((one) => one.scrollWidth > innerWidth || one.getBoundingClientRect().right > innerWidth + 1)
  .map((one) => one.closest('figure').textContent.trim().slice(0, 40))"""


def test_on_a_phone_no_table_or_figure_is_cut(written: Path, chromium: Any) -> None:
    phone = {"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        chromium.get(f"file://{written}/report.html")
        chromium.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
        assert chromium.execute_script(CUT) == []
        value = chromium.find_element("css selector", "table.stacked td.number")
        assert value.is_displayed()
        assert (
            chromium.execute_script("return getComputedStyle(arguments[0], '::before').content", value)
            == '"n"'
        )
        chromium.execute_script("document.querySelector('.row').click()")
        assert chromium.execute_script(
            "const one = document.querySelector('dialog[open]'); return one.scrollWidth <= one.clientWidth"
        )
    finally:
        chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


# What a screen reader announces by its name.
NAMED = {"button", "checkbox", "combobox", "dialog", "image", "link", "list", "region", "searchbox", "table"}


def test_everything_that_a_screen_reader_stops_at_has_a_name(written: Path, chromium: Any) -> None:
    chromium.get(f"file://{written}/report.html")
    chromium.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    chromium.execute_script("document.querySelector('.row').click()")
    chromium.execute_cdp_cmd("Accessibility.enable", {})
    try:
        nodes = chromium.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    finally:
        chromium.execute_cdp_cmd("Accessibility.disable", {})
    met = [(node["role"]["value"], node["name"]["value"]) for node in nodes if not node["ignored"]]
    assert {role for role, _ in met} >= {"table", "button", "dialog"}
    assert [role for role, name in met if role in NAMED and not name] == []


CONTRAST = """const part = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map((one) => colour.startsWith('color(') ? one : one / 255);
    const linear = (one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4;
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const over = (cell) => {  // the colour of a cell that lets the ground through, as painted
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    for (const colour of [getComputedStyle(document.body).backgroundColor, getComputedStyle(cell).backgroundColor]) {
      canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    }
    return `rgb(${[...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)})`;
  };
  return [...document.querySelectorAll('td.heat')].flatMap((cell) => [null, '::before'].map((place) => {
    const [text, ground] = [part(getComputedStyle(cell, place).color), part(over(cell))];
    return (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
  }))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_in_the_heat_map_are_told_from_its_colours(written: Path, chromium: Any, scheme: str) -> None:
    phone = {"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    chosen = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", chosen)
    try:
        chromium.get(f"file://{written}/report.html")
        found = chromium.execute_script(CONTRAST)
        assert found
        assert min(found) >= 4.5  # WCAG 2.2, 1.4.3
    finally:
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    driver = browser()
    yield driver
    driver.quit()


@pytest.mark.parametrize("width", [1200, 390])
def test_the_item_browser_filters(written: Path, sample: Split, chromium: Any, width: int) -> None:
    chromium.set_window_size(width, 900)
    chromium.get(f"file://{written}/report.html")
    count = lambda: chromium.find_element("css selector", ".count").text  # noqa: E731
    do = chromium.execute_script
    choose = (
        "const one = document.querySelector(arguments[0]); one.value = arguments[1]; "
        "one.dispatchEvent(new Event('change'));"
    )
    n = len(sample.items)
    assert count() == f"{n} of {n} items"
    assert 0 < len(chromium.find_elements("css selector", ".row")) < 30  # only what is in view
    do(choose, ".outcome", "wrong")
    assert count().startswith(f"{len(range(0, n, 4))} of")
    do(choose, ".system", "1")
    assert count().startswith(f"{len(range(0, n, 3))} of")
    do(choose, ".outcome", "differ")
    assert count().startswith(f"{sum((place % 4 == 0) != (place % 3 == 0) for place in range(n))} of")
    do(choose, ".outcome", "all")
    do(
        "const one = document.querySelector('.pairs'); one.checked = true; one.dispatchEvent(new "
        "Event('change'));"
    )
    assert f"in {n // 2} whole pairs" in count()
    word = next(word for word in sample.items[0].context.split() if len(word) > 5)
    do(
        "const one = document.querySelector('.search'); one.value = arguments[0]; one.dispatchEvent(new "
        "Event('input'));",
        word,
    )
    found = sum(
        word.lower() in " ".join((item.id, item.context, *item.options)).lower() for item in sample.items
    )
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(chromium, 10).until(lambda _: count().startswith(f"{found} of"))
    do("document.querySelector('.row').click()")
    assert sample.items[0].context in chromium.find_element("css selector", "dialog[open] .content").text
    assert do("return document.documentElement.scrollWidth <= window.innerWidth"), "the page scrolls sideways"
    assert not chromium.get_log("browser"), "something is on the console"
    asked = [json.loads(entry["message"])["message"] for entry in chromium.get_log("performance")]
    addresses = [
        one["params"]["request"]["url"] for one in asked if one["method"] == "Network.requestWillBeSent"
    ]
    assert all(address.startswith(("file:", "data:")) for address in addresses), addresses


def press(chromium: Any, *keys: str) -> None:
    from selenium.webdriver import ActionChains

    for key in keys:
        ActionChains(chromium).send_keys(key).perform()


FOCUS = """const one = document.activeElement, ring = getComputedStyle(one), box = one.getBoundingClientRect();
  return {kind: one.className || one.tagName, text: one.textContent, place: one.place ?? null,
    shown: ring.outlineStyle === 'solid' && parseFloat(ring.outlineWidth) >= 2,
    inside: !one.closest('.list') || (box.top >= one.closest('.list').getBoundingClientRect().top - 1
      && box.bottom <= one.closest('.list').getBoundingClientRect().bottom + 1)}"""


def test_the_item_browser_is_used_by_the_keyboard_alone(written: Path, sample: Split, chromium: Any) -> None:
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    chromium.set_window_size(1200, 900)
    chromium.get("about:blank")
    chromium.get(f"file://{written}/report.html")
    focus = lambda: chromium.execute_script(FOCUS)  # noqa: E731
    stops: list[str] = []
    while not stops or (stops[-1] != "row" and len(stops) < 60):
        press(chromium, Keys.TAB)
        assert focus()["shown"], focus()
        stops.append(focus()["kind"])
    assert stops[-7:] == ["search", "system", "outcome", "attribute", "order", "pairs", "row"]
    count = len(sample.items)
    for place in range(1, 30):  # more rows than are painted at once
        press(chromium, Keys.ARROW_DOWN)
        assert (focus()["place"], focus()["shown"], focus()["inside"]) == (place, True, True)
    for key, place in ((Keys.END, count - 1), (Keys.HOME, 0), (Keys.ARROW_UP, 0), (Keys.ARROW_DOWN, 1)):
        press(chromium, key)
        assert (focus()["place"], focus()["inside"]) == (place, True)
    press(chromium, Keys.PAGE_DOWN)
    before = focus()["place"]
    assert before > 3
    press(chromium, Keys.ENTER)
    assert chromium.find_elements("css selector", "dialog[open]")
    press(chromium, Keys.ESCAPE)
    assert not chromium.find_elements("css selector", "dialog[open]")
    assert focus()["place"] == before, "the focus is where it was"
    chromium.execute_script("document.querySelector('.outcome').focus()")
    press(chromium, Keys.ARROW_DOWN)
    said = lambda: chromium.find_element("css selector", ".count").text  # noqa: E731
    WebDriverWait(chromium, 10).until(lambda _: said() == f"{len(range(0, count, 4))} of {count} items")


def test_a_link_to_a_folded_section_opens_it(written: Path, chromium: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    chromium.get("about:blank")
    chromium.get(f"file://{written}/report.html")
    folded = chromium.find_elements("css selector", "details:not([open])")
    assert folded
    name = folded[-1].get_attribute("id")
    chromium.execute_script("document.querySelector(`nav a[href='#${arguments[0]}']`).focus()", name)
    press(chromium, Keys.ENTER)
    assert folded[-1].get_property("open")
    chromium.get("about:blank")
    chromium.get(f"file://{written}/report.html#{name}")
    assert chromium.find_element("id", name).get_property("open")


@pytest.mark.slow
def test_a_report_over_100_000_rows_opens_in_under_three_seconds(tmp_path: Path, chromium: Any) -> None:
    draw = random.Random(0)
    metaphors = [f"The plan was like a house of cards, number {number}" for number in range(100_000)]
    lines = [
        f'"{text}","It was firm, {place // 2}","It was not, {place // 2}",{place % 2}'
        for place, text in enumerate(metaphors)
    ]
    (tmp_path / "mine.csv").write_text("\n".join(["startphrase,ending1,ending2,labels", *lines]) + "\n")
    settings = DataConfig(
        dataset="figqa_csv", train=str(tmp_path / "mine.csv"), validation=str(tmp_path / "mine.csv")
    )
    items = data.load("validation", settings, PathsConfig()).items
    write_predictions(
        tmp_path / "big.jsonl",
        [
            Prediction(
                item.id,
                item.group,
                item.gold,
                (draw.random(), draw.random()),
                {"kind": (draw.choice("abc"),)},
            )
            for item in items
        ],
    )
    whole = report(tmp_path / "out", str(tmp_path / "big.jsonl"), data=settings)
    assert metaphors[-1] in whole
    # Of this page's thread, in CPU time: what others do on the machine is not counted.
    chromium.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    chromium.get(f"file://{tmp_path}/out/report.html")
    measured = chromium.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    seconds = {one["name"]: one["value"] for one in measured}["TaskDuration"]
    print(f"100,000 rows, {len(whole) / 1e6:.1f} MB, open after {seconds:.2f} s of CPU time")
    assert chromium.find_element("css selector", ".count").text == "100,000 of 100,000 items"
    assert seconds < 3


def test_a_pair_stands_side_by_side_and_each_item_has_a_link(
    written: Path, sample: Split, chromium: Any
) -> None:
    chromium.set_window_size(1200, 900)
    item = sample.items[3]
    chromium.get("about:blank")
    chromium.get(f"file://{written}/report.html#c1-items={item.id}")
    shown = chromium.find_elements("css selector", "dialog[open] .content > .item")
    pair = [other.context for other in sample.items if other.group == item.group]
    assert [one.find_element("css selector", "h4").text for one in shown] == pair
    assert len({one.rect["y"] for one in shown}) == 1, "one below the other"
    assert (
        shown[0]
        .find_element("css selector", "a")
        .get_attribute("href")
        .endswith(f"#c1-items={sample.items[2].id}")
    )
    chromium.find_element("css selector", "dialog button").click()
    choose = "const one = document.querySelector('.outcome'); one.value = arguments[0]; one.dispatchEvent(new Event('change'));"
    for wanted, both in (("all-wrong", lambda a, b: a and b), ("only-wrong", lambda a, b: a and not b)):
        chromium.execute_script(choose, wanted)
        count = sum(both(place % 4 == 0, place % 3 == 0) for place in range(len(sample.items)))
        assert chromium.find_element("css selector", ".count").text.startswith(f"{count} of")


@pytest.mark.parametrize("width", [390, 1600])
def test_the_first_screen_answers_who_is_best(written: Path, chromium: Any, width: int) -> None:
    size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 500}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        chromium.get(f"file://{written}/report.html")
        bottom = "return document.querySelectorAll('.standing tbody tr')[1].getBoundingClientRect().bottom"
        assert chromium.execute_script(bottom) < 1000
        assert chromium.execute_script("return document.documentElement.scrollWidth") <= width
        reach = "return [...document.querySelectorAll('.standing, .picture')].map((one) => one.getBoundingClientRect().width)"
        assert max(chromium.execute_script(reach)) <= 16 * 60
        said = chromium.find_element("css selector", ".answer").text
        assert said.startswith("Best of 2: ")
    finally:
        chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


NUMBERS = """return [...document.querySelectorAll('.standing td.number')].map((cell) => {
  const text = document.createRange();
  text.selectNodeContents(cell);
  return text.getBoundingClientRect().height / parseFloat(getComputedStyle(cell).fontSize);
})"""


def test_on_paper_the_ranking_has_whole_intervals_and_may_go_on_overleaf(
    written: Path, chromium: Any
) -> None:
    """A figure of 60 systems that had to stand on one page left the first page nearly empty."""
    sheet = {"width": 718, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", sheet)
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        chromium.get(f"file://{written}/report.html")
        lines = chromium.execute_script(NUMBERS)
        assert lines
        assert max(lines) < 2
        kept = "return getComputedStyle(document.querySelector('.standing').closest('figure')).breakInside"
        assert chromium.execute_script(kept) == "auto"
    finally:
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
