"""The page in a real browser: trees are annotated by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.apps.annotate.conftest import Opened, Served, does
from tests.apps.serve.browser import Browser, needs_browser

pytestmark = needs_browser

Serve = Callable[..., Served]
LOADED = (
    "typeof view !== 'undefined' && view && options.labels.length"
    " && rows.every((row) => row.sure !== null)"
)


@pytest.fixture
def page(browser: Browser, served: Serve) -> Iterator[Browser]:
    """The page with the third sentence, which has no heads."""
    browser.service = served()  # type: ignore[attr-defined]
    yield load(browser, browser.service.url, 2)  # type: ignore[attr-defined]
    assert not browser.errors
    browser.call("Page.navigate", url="about:blank")  # no request is left


def load(browser: Browser, url: str, index: int = 0) -> Browser:
    browser.screen(1300, 900)
    browser.errors.clear()
    browser.requested.clear()
    browser.call("Page.navigate", url=url)
    browser.wait(LOADED, 60)
    browser.run(f"open({index})")
    browser.wait(f"view.index === {index}")
    return browser


def heads(page: Browser) -> list[int]:
    page.run("queue")
    return page.run("view.cells.map((cell) => cell.head)")


def of_word(page: Browser, m: int, what: str = "") -> tuple[float, float]:
    """The middle of a word, or of a part of its arc."""
    key = "mod" if what else "word"
    x, y = page.run(
        f"(() => {{ const b = $('drawing').querySelector('[data-{key}=\"{m}\"]{what}')"
        ".getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
    )
    return x, y


def click(page: Browser, place: tuple[float, float]) -> None:
    for kind in ("Moved", "Pressed", "Released"):
        page.mouse(kind, *place)


def press(page: Browser, *keys: str) -> list[int]:
    for key in keys:
        page.key(key)
        page.run("queue")
    return heads(page)


def test_click_a_word_and_its_head(page: Browser) -> None:
    service: Served = page.service  # type: ignore[attr-defined]
    click(page, of_word(page, 6))
    assert page.run("armed && word") == 6
    click(page, of_word(page, 2))
    found = heads(page)
    assert found[5] == 2 and found == list(service.treebank.entries[2].step.heads)
    assert page.run("$('drawing').querySelector('[data-mod=\"6\"]').classList.contains('fixed')")
    assert page.run("rows[2].state") == "work"
    click(page, of_word(page, 6, " text"))
    page.wait("document.activeElement.id === 'filter'")
    for letter in "conj":
        page.key(letter)
    page.key("Enter")
    page.wait("view.cells[5].label === 'conj' && view.cells[5].named")
    page.wait("$('saved').textContent === 'saved'")
    assert "6\tbed\t_\tNOUN\t_\t_\t2\tconj\t" in service.treebank.target.read_text("utf-8")


def test_edges_of_the_graph(browser: Browser, served: Serve, enhanced: Opened) -> None:
    """Typed, by Shift and the mouse, and in the list of the word."""
    page = load(browser, served().url, 2)
    edges = "view.cells[5].edges.filter((edge) => edge[2]).map((edge) => edge[0])"
    page.run("pick(6)")
    page.key("g")
    page.key("3")
    page.key("Enter")
    page.wait(f"{edges}.join() === '3'")
    assert "slept 3" in page.run("$('edges').innerText").replace("\u2068", "").replace("\u2069", "")
    page.run("[...$('edges').children].find((one) => one.classList.contains('now')).click()")
    page.wait(f"!{edges}.length")
    page.run("join(6, 2, { shiftKey: true })")
    page.wait(f"{edges}.join() === '2'")
    assert page.run("view.undo") == 3 and not browser.errors
    page.call("Page.navigate", url="about:blank")


def test_drag_a_word_to_its_head(page: Browser) -> None:
    start, end = of_word(page, 6), of_word(page, 4)
    page.mouse("Moved", *start)
    page.mouse("Pressed", *start)
    page.mouse("Moved", start[0] - 20, start[1] - 20)
    page.mouse("Moved", *end)
    assert page.run("!!document.querySelector('.rubber') && target") == 4
    page.mouse("Released", *end)
    page.wait("view.cells[5].head === 4")
    start, (x, y) = (
        of_word(page, 1),
        page.run(
            "(() => { const b = $('drawing').getBoundingClientRect();"
            " return [b.x + 80, b.y + 4]; })()"
        ),
    )
    for kind, at in (("Moved", start), ("Pressed", start), ("Moved", (x, y)), ("Released", (x, y))):
        page.mouse(kind, *at)
    page.wait("view.cells[0].head === 0")
    assert page.run("view.undo") == 2


def test_by_keyboard_alone(page: Browser) -> None:
    before = heads(page)
    page.run("pick(6)")
    press(page, "Enter", "ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowLeft")
    assert page.run("target") == 2
    assert press(page, "Enter")[5] == 2
    assert press(page, "z") == before and press(page, "y")[5] == 2
    assert press(page, "x")[5] != 2 and "cat" in page.run("$('forbidden').textContent")
    assert press(page, "r") == before
    page.wait("options.heads.length > 1")
    second = page.run("options.heads[1][0]")
    assert press(page, "2")[page.run("word") - 1] == second
    assert press(page, "R") == before
    press(page, "f", " ")
    assert page.run("view.cells.filter((cell) => cell.fixed).length") == 1
    assert page.run("word") != 6
    press(page, "a")
    assert page.run("view.state") == "done" and page.run("$('progress').textContent")[0] == "1"
    press(page, "z", "e")
    assert page.run("document.activeElement.dataset.column") == "upos"
    page.key("X")
    page.key("Enter")
    page.wait("view.cells[word - 1].upos === 'X'")
    page.key("?")
    assert page.run("$('help').open")
    page.run("$('help').close()")
    press(page, "p")
    page.wait("view.index === 1")
    press(page, "n")
    page.wait("view.index === 2")


def test_broken_rules_are_told_at_the_arc(page: Browser) -> None:
    service: Served = page.service  # type: ignore[attr-defined]
    does(service.treebank, 2, "fix", 1, head=3, label="det")
    does(service.treebank, 2, "fix", 2, head=1, label="nsubj")
    page.wait("view.revision === 2")
    says = service.ask("/api/sentences/3").json["faults"][0]["says"]
    assert page.run("document.querySelector('.says').textContent") == says
    assert says in page.run("$('faults').textContent") and "window" in page.run(
        "$('status').textContent"
    )
    page.run("$('only').value = 'invalid'; $('only').dispatchEvent(new Event('change'))")
    assert page.run("shown.map((row) => row.index)") == [2]


def test_markup_in_a_file_is_text(page: Browser, served: Serve, opened: Opened) -> None:
    page.call("Page.navigate", url="about:blank")
    page.service.close()  # type: ignore[attr-defined]
    evil = "<img/src=x/onerror=window.hit=1>"
    row = [evil, evil, "NOUN", evil, "A=<b>", "0", "root", "_", "_"]
    lines = [f"# text = {evil}", f"1-1\t{evil}" + "\t_" * 8, "\t".join(["1", *row])]
    opened.path.write_text("\n".join([*lines, "", ""]))
    load(page, served().url)
    assert not page.run("!!window.hit || document.querySelectorAll('img, main b b').length")
    assert page.run("$('written').textContent") == evil
