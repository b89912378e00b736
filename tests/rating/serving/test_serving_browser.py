"""The page of `figlang rate serve` in a real browser: desktop and phone, keys alone, a screen reader."""

import csv
import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from figlang.rating.serving import exports, order, study
from figlang.rating.serving.store import Store
from tests.browsers import browser
from tests.needing import needs
from tests.rating.serving.served import Served, served

needs("starlette", "needs starlette and uvicorn (figlang[people])")
CHOICE = ["data=figqa_sample", "limit=6", "raters=[ann,ben]", "checks=1", "port=0", "folder=choice"]
WIDTHS = {"desktop": 1200, "phone": 390}
# What a screen reader is told of: everything that takes the focus or a value must have a name.
CONTROLS = {
    "button",
    "textbox",
    "checkbox",
    "link",
    "progressbar",
    "group",
    "dialog",
    "ProgressIndicator",
    "navigation",
}


@contextmanager
def opened() -> Iterator[Any]:
    driver = browser()
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with opened() as driver:
        yield driver


@pytest.fixture(params=WIDTHS)
def sized(chromium: Any, request: pytest.FixtureRequest) -> Any:
    size = {
        "width": WIDTHS[request.param],
        "height": 800,
        "deviceScaleFactor": 1,
        "mobile": request.param == "phone",
    }
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    return chromium


def until(driver: Any, found: Callable[[], object]) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(driver, 30, poll_frequency=0.05).until(lambda _: found())


def press(driver: Any, *keys: str) -> None:
    for key in keys:
        driver.switch_to.active_element.send_keys(key)


def text(driver: Any, name: str) -> str:
    return str(driver.find_element("id", name).text)


def enter(driver: Any, server: Served, name: str) -> None:
    """Sign in by keys; the cursor is in the field already."""
    driver.get(f"{server.address}page.css")  # cookies are deleted of the open page alone
    driver.delete_all_cookies()
    driver.get(server.address)
    until(driver, lambda: driver.switch_to.active_element.get_attribute("id") == "code")
    press(driver, server.codes[name], "\n")


def on_item(driver: Any, number: int, of: int) -> None:
    until(driver, lambda: text(driver, "where") == f"Item {number} of {of}")


def unnamed(driver: Any) -> list[str]:
    """Controls in the accessibility tree that have no name."""
    nodes = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    shown = [node for node in nodes if not node.get("ignored")]
    roles = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in shown]
    assert any(role in CONTROLS for role, _ in roles)
    return [role for role, name in roles if role in CONTROLS and not str(name).strip()]


def fits(driver: Any) -> bool:
    return bool(driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth"))


def asked_elsewhere(driver: Any, server: Served) -> list[str]:
    entries = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    urls = [
        one["params"]["request"]["url"] for one in entries if one["method"] == "Network.requestWillBeSent"
    ]
    return [url for url in urls if not url.startswith((server.address, "about:", "data:", "chrome"))]


def test_choices_by_keys_alone(sized: Any, tmp_path: Path) -> None:
    sized.get_log("performance"), sized.get_log("browser")
    with served(CHOICE, tmp_path) as server:
        sized.get(server.address)
        until(sized, lambda: sized.find_element("id", "sign-in").is_displayed())
        assert unnamed(sized) == []
        enter(sized, server, "ann")
        until(sized, lambda: sized.find_element("id", "about").is_displayed())  # what to do is shown first
        assert unnamed(sized) == []
        press(sized, "\n")
        on_item(sized, 1, 7)
        # A screen reader reads on from here.
        assert sized.switch_to.active_element.get_attribute("id") == "where"
        assert unnamed(sized) == []
        assert fits(sized)
        press(sized, "2")
        on_item(sized, 2, 7)
        assert text(sized, "message") == "Saved."
        press(sized, "n", "1")
        on_item(sized, 3, 7)
        from selenium.webdriver.common.keys import Keys

        press(sized, Keys.ARROW_LEFT)
        on_item(sized, 2, 7)
        marked = [
            one.get_attribute("aria-pressed")
            for one in sized.find_elements("css selector", "#options button")
        ]
        assert marked == ["true", "false"]
        assert sized.find_element("id", "unsure").get_attribute("aria-pressed") == "true"
        press(sized, "u")
        on_item(sized, 3, 7)
        for number in range(3, 7):
            press(sized, "1")
            on_item(sized, number + 1, 7)
        press(sized, "1")
        until(sized, lambda: sized.find_element("id", "done").is_displayed())
        assert text(sized, "count") == "7 of 7 answered"
        assert unnamed(sized) == []
        assert not sized.get_log("browser"), "something is on the console"
        assert asked_elsewhere(sized, server) == []
    folder = tmp_path / "choice"
    asked = study.read(folder)
    store = Store(folder, asked.signature)
    given, shown = store.latest_of("ann"), order.of(asked, "ann")
    store.close()
    keys = [1, 0, 0, 0, 0, 0, 0]
    assert [given[one.question.id].value for one in shown] == [
        str(one.options[key]) for one, key in zip(shown, keys, strict=True)
    ]
    assert [given[one.question.id].confident for one in shown] == [True, False, *[True] * 5]
    assert all(0 < one.seconds < 60 for one in given.values())


def test_paraphrases_and_the_organiser(sized: Any, tmp_path: Path) -> None:
    words = [
        "data=munch_sample",
        "data.question=generation",
        "ask=paraphrase",
        "limit=3",
        "raters=[ann]",
        "port=0",
        "folder=p",
    ]
    with served(words, tmp_path) as server:
        enter(sized, server, "ann")
        until(sized, lambda: sized.find_element("id", "about").is_displayed())
        press(sized, "\n")
        on_item(sized, 1, 3)
        assert sized.find_element("css selector", "#text mark").text
        assert sized.switch_to.active_element.get_attribute("id") == "words"
        assert unnamed(sized) == []
        assert fits(sized)
        press(sized, "\n")
        until(sized, lambda: text(sized, "message") == "Write something first.")
        for number in (1, 2, 3):
            press(sized, f"u h 1 {number}", "\n")  # keys of the page are letters here
            if number < 3:
                on_item(sized, number + 1, 3)
        until(sized, lambda: sized.find_element("id", "done").is_displayed())
        enter(sized, server, "organiser")
        until(sized, lambda: len(sized.find_elements("css selector", "#raters tr")) == 1)
        assert "3 of 3" in text(sized, "raters")
        until(sized, lambda: "paraphrases.csv" in text(sized, "files"))
        assert unnamed(sized) == []
        assert fits(sized)
        sized.get(server.address)  # the organiser is led back
        until(sized, lambda: sized.current_url.endswith("/organiser"))
    asked = study.read(tmp_path / "p")
    store = Store(tmp_path / "p", asked.signature)
    assert [one.value for one in store.latest()] == ["u h 1 1", "u h 1 2", "u h 1 3"]
    store.close()


def test_single_keys_can_be_turned_off(chromium: Any, tmp_path: Path) -> None:
    with served(CHOICE, tmp_path) as server:
        enter(chromium, server, "ben")
        until(chromium, lambda: chromium.find_element("id", "about").is_displayed())
        chromium.find_element("id", "single").click()
        chromium.find_element("id", "about-close").click()
        on_item(chromium, 1, 7)
        press(chromium, "1", "u")
        assert text(chromium, "where") == "Item 1 of 7"
        chromium.find_element("css selector", "#options button").click()
        on_item(chromium, 2, 7)
        chromium.execute_script("localStorage.clear()")


def stored(folder: Path) -> dict[str, list[tuple[str, int]]]:
    """The answers of each rater to a study, with the number of their revisions."""
    asked = study.read(folder)
    store = Store(folder, asked.signature)
    try:
        return {
            name: [(one.value, one.revisions) for one in store.latest_of(name).values()]
            for name in ("ann", "ben")
        }
    finally:
        store.close()


def test_an_answer_that_waits_is_of_its_rater_and_study_alone(chromium: Any, tmp_path: Path) -> None:
    """A server ends under a rater; another study, and then another rater, come to the same address."""

    def begin(name: str, codes: dict[str, str], of: int) -> None:
        until(chromium, lambda: chromium.switch_to.active_element.get_attribute("id") == "code")
        press(chromium, codes[name], "\n")
        until(chromium, lambda: chromium.find_element("id", "about").is_displayed())
        press(chromium, "\n")
        on_item(chromium, 1, of)

    def leave() -> None:
        chromium.find_element("id", "leave").click()
        until(chromium, lambda: chromium.find_element("id", "sign-in").is_displayed())

    other = ["data=figqa_sample", "limit=8", "raters=[ann,ben]", "folder=other"]
    with served(CHOICE, tmp_path) as server:
        chromium.get(server.address)
        begin("ann", server.codes, 7)
    port = f"port={server.port}"
    press(chromium, "1")
    until(chromium, lambda: chromium.find_element("id", "trouble").is_displayed())
    leave()
    with served([*other, port], tmp_path) as server:
        begin("ann", server.codes, 8)
        press(chromium, "2")
        on_item(chromium, 2, 8)
        leave()
    assert [len(given) for given in stored(tmp_path / "other").values()] == [1, 0]
    with served(["folder=choice", port], tmp_path) as server:
        begin("ben", server.codes, 7)
        press(chromium, "2")
        on_item(chromium, 2, 7)
        leave()
        until(chromium, lambda: chromium.switch_to.active_element.get_attribute("id") == "code")
        press(chromium, server.codes["ann"], "\n")
        on_item(chromium, 2, 7)
    asked = study.read(tmp_path / "choice")
    first = {name: order.of(asked, name)[0].options for name in ("ann", "ben")}
    wanted = {"ann": [(str(first["ann"][0]), 1)], "ben": [(str(first["ben"][1]), 1)]}
    assert stored(tmp_path / "choice") == wanted
    chromium.execute_script("localStorage.clear()")


def test_a_text_from_right_to_left_is_shown_so(chromium: Any, tmp_path: Path) -> None:
    lines = ["model,item,prompt,answer", "m,q1,كلامها حديد.,(لا يتغير)!", "m,q2,Her word is steel.,It stays."]
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    with served(["texts=[t.csv]", "scale=figqa", "raters=[ann]", "port=0", "folder=s"], tmp_path) as server:
        enter(chromium, server, "ann")
        until(chromium, lambda: chromium.find_element("id", "about").is_displayed())
        press(chromium, "\n")
        directions = {}
        for number in (1, 2):
            on_item(chromium, number, 2)
            shown = [chromium.find_element("id", name) for name in ("text", "answer")]
            script = "return arguments[0].map(one => getComputedStyle(one).direction)"
            directions[text(chromium, "text")] = chromium.execute_script(script, shown)
            press(chromium, "1")
    assert directions == {"كلامها حديد.": ["rtl", "rtl"], "Her word is steel.": ["ltr", "ltr"]}


@pytest.mark.faults
def test_two_raters_lose_nothing_to_a_kill_of_the_server(tmp_path: Path) -> None:
    """Two browsers, 60 items each; the server is killed while both are pressing keys, and started again."""
    words = ["data=figqa_sample", "limit=60", "raters=[ann,ben]", "checks=4"]
    with opened() as ann, opened() as ben:
        drivers = {"ann": ann, "ben": ben}
        server = Served([*words, "port=0", "folder=study"], tmp_path)
        try:
            pressed: dict[str, list[str]] = {name: [] for name in drivers}
            draws = {name: random.Random(name) for name in drivers}
            for name, driver in drivers.items():
                enter(driver, server, name)
                until(driver, lambda driver=driver: driver.find_element("id", "about").is_displayed())
                press(driver, "\n")

            def answer(name: str, number: int) -> None:
                on_item(drivers[name], number, 64)
                key = draws[name].choice("12")
                press(drivers[name], key)
                pressed[name].append(key)

            for number in range(1, 31):
                answer("ann", number)
                answer("ben", number)
            server.kill()  # the replies to the last keys may be under way
            for name, driver in drivers.items():
                trouble = driver.find_element("id", "trouble")
                # The last reply has come, or else its answer is being sent again.
                until(
                    driver,
                    lambda d=driver, t=trouble: t.is_displayed() or text(d, "where") == "Item 31 of 64",
                )
                if not trouble.is_displayed():
                    answer(name, 31)
                until(driver, trouble.is_displayed)
            codes = server.codes
            server = Served(["folder=study", f"port={server.port}"], tmp_path)
            assert server.codes == codes
            for name in drivers:
                for number in range(len(pressed[name]) + 1, 65):
                    answer(name, number)
            for driver in drivers.values():
                until(driver, lambda driver=driver: driver.find_element("id", "done").is_displayed())
                assert not driver.find_element("id", "trouble").is_displayed()
        finally:
            server.kill()
    asked = study.read(tmp_path / "study")
    store = Store(tmp_path / "study", asked.signature)
    exports.write(asked, store, tmp_path / "study")
    for name in drivers:
        given, shown = store.latest_of(name), order.of(asked, name)
        assert len(pressed[name]) == len(shown) == 64
        # What was pressed on each item is what is stored of it, once.
        assert [str(one.options[int(key) - 1]) for one, key in zip(shown, pressed[name], strict=True)] == [
            given[one.question.id].value for one in shown
        ]
        assert {one.revisions for one in given.values()} == {1}
    store.close()
    with (tmp_path / "study" / "exports" / "people.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 120
