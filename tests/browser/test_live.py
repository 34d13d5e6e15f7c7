"""Open pages show changes by others without a reload. Tests advance the clocks of pages to the next poll."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, Request, expect

from tests.browser.conftest import NARROW, Enter
from tests.browser.flaws import flaws
from tests.browser.prompts import control, editor
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.remote import RemoteApi

ApiOf = Callable[[str], RemoteApi]

EDIT = "versioning/agent/{}/change/"
ASKS = "**/activity/live/**"
INTERVAL = 2_000
WHILE_BUSY = 10_000
LONGEST = 60_000
HIDE = """({hidden}) => {
  Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def make(kind: Kind, api: RemoteApi, resource_id: str, **more: Any) -> None:
    answer = api.post(kind.path, kind.body(id=resource_id, **more))
    assert answer.status == 201, answer.body


def save(kind: Kind, api: RemoteApi, resource_id: str, **fields: Any) -> None:
    answer = api.patch(kind.url(resource_id), fields)
    assert answer.status == 200, answer.body


def opened(enter: Enter, name: str, address: str, **look: Any) -> Page:
    """Open a page whose clock a test can advance."""
    page = enter(name, address, is_kept=False, **look)
    page.clock.install()
    page.reload()
    return page


def wait_for_news(page: Page) -> None:
    """Let the page poll, and wait until it has an answer."""
    with page.expect_response(ASKS):
        page.clock.fast_forward(WHILE_BUSY)


def questions(page: Page) -> list[Request]:
    """Return a list to which the page's requests are added from now on."""
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request) if "/live/" in request.url else None)
    return asked


def settle(page: Page) -> None:
    """Wait until all requests that the page has sent so far were recorded."""
    page.evaluate("() => fetch('/api/healthz')")


def news_on(page: Page) -> Any:
    return page.locator("#since")


def test_an_open_edit_page_shows_who_saved_and_preserves_typed_text(enter: Enter, api_of: ApiOf) -> None:
    name = "live-page"
    make(AGENTS, api_of("edgar"), name)
    page = opened(enter, "edgar", EDIT.format(name), width=NARROW)
    editor(page).fill("words that no one has saved")
    wait_for_news(page)
    expect(news_on(page)).to_be_empty()
    # A comment is sent without leaving the page, which goes on asking.
    page.locator("#comments summary", has_text="Comment").last.click()
    page.get_by_label("Comment on version 1").fill("Why?")
    page.locator("#comments").get_by_role("button", name="Comment", exact=True).click()
    expect(page.locator("#comments .thread")).to_contain_text("Why?")
    save(AGENTS, api_of("paula"), name, instructions="words of paula")
    wait_for_news(page)
    expect(news_on(page)).to_contain_text("paula saved draft 2: Instructions")
    expect(news_on(page)).to_contain_text("just now")
    assert news_on(page).get_attribute("role") == "status"
    expect(control(page)).to_have_value("words that no one has saved")
    assert flaws(page, news_on(page)) == []
    with page.context.expect_page() as comparison:
        news_on(page).get_by_role("link", name="See the difference").click()
    expect(comparison.value.locator("#content")).to_contain_text("words of paula")
    with page.expect_response("**/activity/since/**"):  # which says how long ago that was
        page.clock.fast_forward(61_000)

    save(AGENTS, api_of("paula"), name, autoPublish=True)
    wait_for_news(page)
    expect(news_on(page)).to_contain_text("paula published version 2")
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("Not saved: this changed while you were editing")).to_be_visible()
    expect(control(page)).to_have_value("words that no one has saved")
    wait_for_news(page)
    expect(news_on(page)).to_be_empty()  # the page says it already


def test_an_own_save_is_shown_only_in_other_windows(enter: Enter, api_of: ApiOf) -> None:
    make(AGENTS, api_of("edgar"), "twice")
    one, other = (opened(enter, "edgar", EDIT.format("twice")) for _ in range(2))
    editor(one).fill("words of this window")
    one.get_by_role("button", name="Save draft").click()
    expect(one.get_by_text("Version 2 is saved as a draft.")).to_be_visible()
    wait_for_news(other)
    expect(news_on(other)).to_contain_text("You, in another window, saved draft 2")
    wait_for_news(one)
    expect(news_on(one)).to_be_empty()
    save(AGENTS, api_of("edgar"), "twice", instructions="words of a program")
    wait_for_news(one)
    expect(news_on(one)).to_contain_text("You saved draft 3")
    expect(news_on(one)).to_contain_text("by key ek_edgar")


def test_a_viewer_sees_only_publications(enter: Enter, api_of: ApiOf) -> None:
    make(AGENTS, api_of("paula"), "watched", autoPublish=True)
    page = opened(enter, "vera", EDIT.format("watched"))
    save(AGENTS, api_of("edgar"), "watched", instructions="a secret draft")
    save(AGENTS, api_of("paula"), "watched", instructions="other words", autoPublish=True)
    wait_for_news(page)
    reading = page.locator("#reading")
    expect(reading).to_contain_text("other words")
    expect(reading).to_contain_text("Version 3 · paula")
    expect(reading).not_to_contain_text("secret")


def test_a_page_updates_itself(enter: Enter, api_of: ApiOf) -> None:
    addresses = ("", "versioning/promptblock/", "activity/", "versioning/workspace/acme/activity/")
    first, *others = addresses
    pages = {first: opened(enter, "vera", first)}
    for address in others:
        pages[address] = pages[first].context.new_page()
        pages[address].goto(address)
    said, name = "paula published version 1 of prompt block", "Fresh from the press"
    make(PROMPT_BLOCKS, api_of("paula"), "fresh", name=name, autoPublish=True)
    for address, page in pages.items():
        page.clock.fast_forward(WHILE_BUSY)
        updated = page.locator("main [data-live]:not(#notices)")
        expect(updated).to_contain_text(name)
        if address != "versioning/promptblock/":
            expect(updated).to_contain_text(said)
        if "activity" in address:
            expect(page.locator("#live")).to_contain_text(f"{said} {name}")


def test_a_page_keeps_the_focus_and_the_filter_when_it_updates_itself(enter: Enter, api_of: ApiOf) -> None:
    make(AGENTS, api_of("paula"), "focused/one", name="One")
    page = opened(enter, "paula", "versioning/agent/?folder=focused/")
    page.get_by_role("link", name="One").focus()
    make(AGENTS, api_of("paula"), "focused/two", name="Two")
    make(AGENTS, api_of("paula"), "unfocused", name="Three")
    wait_for_news(page)
    expect(page.get_by_role("link", name="Two")).to_be_visible()
    expect(page.get_by_role("link", name="One")).to_be_focused()
    expect(page.get_by_role("link", name="Three")).to_have_count(0)


def test_a_hidden_page_does_not_poll_and_after_errors_it_waits_longer(enter: Enter, api_of: ApiOf) -> None:
    page = opened(enter, "paula", "activity/")
    wait_for_news(page)
    page.evaluate(HIDE, {"hidden": True})
    asked = questions(page)
    for _ in range(3):
        page.clock.fast_forward(LONGEST)
    settle(page)
    assert asked == []
    make(AGENTS, api_of("paula"), "unseen-at-first")
    page.evaluate(HIDE, {"hidden": False})
    expect(page.locator("#activity")).to_contain_text("unseen-at-first")

    page.route(ASKS, lambda route: route.fulfill(status=429, body=""))
    wait_for_news(page)
    asked.clear()
    page.clock.fast_forward(INTERVAL)
    settle(page)
    assert asked == []
    page.unroute(ASKS)
    make(AGENTS, api_of("paula"), "after-errors")
    page.clock.fast_forward(LONGEST)
    expect(page.locator("#activity")).to_contain_text("after-errors")


def test_after_a_sign_out_elsewhere_an_open_page_says_that_it_gets_no_changes(
    enter: Enter, api_of: ApiOf
) -> None:
    make(AGENTS, api_of("paula"), "signed-out")
    page = opened(enter, "paula", EDIT.format("signed-out"))
    cookies: Any = page.context.cookies()
    page.context.clear_cookies()
    page.clock.fast_forward(INTERVAL)
    expect(page.locator("#live")).to_contain_text("no longer hears of changes")
    page.context.add_cookies(cookies)
    asked = questions(page)
    page.clock.fast_forward(2 * LONGEST)
    settle(page)
    assert asked == []
