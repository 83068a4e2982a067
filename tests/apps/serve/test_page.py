"""The page in a real browser: arcs are pointed at, dragged, fixed and forbidden, by all means."""

from __future__ import annotations

import pytest

from tests.apps.serve.browser import Browser, needs_browser
from tests.apps.serve.conftest import Running

pytestmark = needs_browser

SETTLED = "question && sentences.length && !$('result').classList.contains('busy')"


@pytest.fixture
def page(browser: Browser, service: Running) -> Browser:
    """The page with the trees of a sentence."""
    browser.screen(1200, 800)
    browser.errors.clear()
    browser.requested.clear()
    browser.call("Page.navigate", url=f"{service.url}/")
    browser.wait("document.querySelectorAll('[data-mod]').length > 3")
    browser.run("$('text').value = 'A dog saw the small cat near the stove.'; parse()")
    browser.wait("document.querySelectorAll('[data-mod]').length == 10")
    return browser


def heads(page: Browser) -> list[int]:
    page.wait(SETTLED)
    return page.run("tree().heads")


def place(page: Browser, what: str) -> tuple[float, float]:
    """The middle of what a selector finds."""
    box = page.run(
        f"(() => {{ const b = $('drawing').querySelector({what!r}).getBoundingClientRect();"
        " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
    )
    return box[0], box[1]


def test_pointing_tells_what_an_arc_is_worth(page: Browser, service: Running) -> None:
    before = heads(page)
    page.mouse("Moved", *place(page, '[data-mod="5"] text'))
    told = page.wait("$('tip').textContent.includes('drops by') && $('tip').textContent")
    record = {"text": "A dog saw the small cat near the stove."}
    forbid = [{"forbid": [[before[4], 5]]}]
    best = service.ask("/v1/parse", record).lines[0]["trees"][0]
    other = service.ask("/v1/parse", {**record, "constraints": forbid}).lines[0]["trees"][0]
    assert f"drops by {best['score'] - other['score']:.2f} without it; " in told
    assert told.startswith("small ← cat")


def test_by_mouse(page: Browser) -> None:
    before = heads(page)
    arc = place(page, '[data-mod="2"] .bbp-tip')
    page.mouse("Pressed", *arc)
    x, y = page.run(
        "(() => { const b = $('drawing').querySelectorAll('.bbp-form')[5].getBoundingClientRect();"
        " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
    )
    page.mouse("Moved", arc[0] + 20, arc[1] + 20)
    page.mouse("Moved", x, y)
    assert page.run("!!document.querySelector('.rubber')")
    page.mouse("Released", x, y)
    after = heads(page)
    assert after[1] == 6 and page.run("now().fixed.get(2)") == 6
    assert page.run("arcOf(2).classList.contains('fixed')")
    page.run("$('clear').click()")
    assert heads(page) == before


def test_by_keyboard(page: Browser) -> None:
    before = heads(page)
    page.run("arcOf(5).focus()")
    page.key("x")
    assert heads(page)[4] != before[4]
    assert page.run("$('kept').textContent").startswith("not small ← cat")
    page.key("Escape")
    assert heads(page) == before
    page.run("arcOf(5).focus()")
    page.key("ArrowRight")
    assert heads(page)[4] == 7 and page.run("document.activeElement.dataset.mod") == "5"
    page.key("f")
    assert heads(page) == before
    page.key("0")
    assert heads(page)[4] == 0
    page.key("Enter")
    assert page.run("document.activeElement.id") == "head"
    page.run("$('head').value = 2; $('head').dispatchEvent(new Event('change'))")
    assert heads(page)[4] == 2
    page.run("fix(2, 5)")
    page.wait("$('status').classList.contains('bad')")
    assert "all fixed heads" in page.run("$('status').textContent")
    assert heads(page)[4] == 2 and page.run("now().fixed.size") == 1


def test_several_sentences_and_copies(page: Browser) -> None:
    page.run("$('text').value = 'The cat slept.\\n\\n<b>It</b> did!'; parse()")
    page.wait("document.querySelectorAll('#sentences button').length == 2")
    page.run("document.querySelectorAll('#sentences button')[1].click()")
    assert "did" in page.run("$('drawing').textContent")
    page.run("document.execCommand = () => window.copied = document.activeElement.value")
    page.run("navigator.clipboard && (navigator.clipboard.writeText = async (t) => { copied = t })")
    page.run("$('copy').click()")
    copied = page.wait("window.copied")
    assert "# sent_id = 2\n# text = <b>It</b> did!\n1\t" in copied
    page.run("$('text').value = ' '; parse()")
    page.wait("$('status').textContent == 'there are no words in the input'")
    assert not page.errors
