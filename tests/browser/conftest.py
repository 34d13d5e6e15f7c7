"""A real browser before a real server.

The browser is Debian's Chromium. These tests run in a separate process (`make test-browser`):
Playwright keeps an event loop running, in which Django's database layer refuses to work.
"""

from __future__ import annotations

import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.library import Library, make_library
from tests.support.override_files import Repository, repository
from tests.support.remote import RemoteApi, connected
from tests.support.service import Service, running_service
from tests.support.studio_cast import PASSWORD, make_cast

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None
)
"""The one that has no window takes half the time of the one that only hides it."""
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--js-flags=--single-threaded",  # helpers that compile and collect take more time than they save
]
WIDE, NARROW = 1280, 390
REFUSED = "Failed to load resource: the server responded with a status of 4"
"""What Chromium writes for an answer such as 404 or 409, which a test may be about."""

Enter = Callable[..., Page]

expect.set_options(timeout=30_000)  # milliseconds: the usual five seconds are short on a busy machine


@dataclass
class Watched:
    """Errors in the pages of a test, and the hosts of their requests."""

    errors: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)

    @contextmanager
    def watching(self, page: Page) -> Iterator[None]:
        """Note errors of scripts and of the Content-Security-Policy, and every request."""
        listeners: dict[Any, Callable[[Any], None]] = {
            "pageerror": lambda problem: self.errors.append(f"{page.url}: {problem}"),
            "console": lambda message: self._heard(page, message),
            "request": lambda request: self.hosts.add(urlsplit(request.url).netloc),
        }
        for event, listener in listeners.items():
            page.on(event, listener)
        yield
        for event, listener in listeners.items():
            page.remove_listener(event, listener)

    def _heard(self, page: Page, message: Any) -> None:
        if message.type in {"error", "warning"} and not message.text.startswith(REFUSED):
            self.errors.append(f"{page.url}: {message.text}")


@dataclass(frozen=True)
class Session:
    """What a browser stores of a person who has signed in."""

    cookies: Any
    begun: float = field(default_factory=time.monotonic)

    @property
    def is_old(self) -> bool:
        """Whether a page may soon ask for the password again, which it does after ten minutes."""
        return time.monotonic() > self.begun + 5 * 60


@pytest.fixture(scope="session")
def overrides(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """The repository that holds the overrides of the code-defined agents."""
    return repository(tmp_path_factory.mktemp("overrides"))


@pytest.fixture(scope="session")
def studio_service(tmp_path_factory: pytest.TempPathFactory, overrides: Repository) -> Iterator[Service]:
    """A server with two code-defined agents (`support`, `supervisor`), whose data the tests share."""
    with running_service(
        tmp_path_factory.mktemp("studio"),
        EMAIL_URL="dummymail://",
        EDITOR_PUBLIC_URL="https://editor.example.com",
        EDITOR_FRAMEWORK="editor_project.framework.framework",
        EDITOR_SOURCE="code",
        EDITOR_CODE_PATH=str(overrides.root),
    ) as service:
        yield service


@pytest.fixture(scope="session")
def keys(studio_service: Service) -> dict[str, str]:
    """An API key of each of the cast, by name."""
    return make_cast(studio_service)


@pytest.fixture
def api_of(studio_service: Service, keys: dict[str, str]) -> Iterator[Callable[[str], RemoteApi]]:
    """The API with the key of a member of the cast: `api_of("paula")`."""
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(connected(studio_service, keys[name]))


@pytest.fixture(scope="session")
def library(studio_service: Service, keys: dict[str, str]) -> Library:
    """Content to look at in the workspace acme."""
    with ExitStack() as stack:
        return make_library(lambda name: stack.enter_context(connected(studio_service, keys[name])))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, without a window."""
    if CHROMIUM is None:
        pytest.skip("`chromium` is not installed, so there is no browser to test with.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def sessions() -> dict[str, Session]:
    """The sessions of people who have signed in, by name."""
    return {}


@dataclass(frozen=True)
class Windows:
    """The windows of a browser, which tests use one after the other.

    A page that stays is one process of Chromium that knows the scripts already; a new one would take a new
    process, which takes more time than most pages.
    """

    browser: Browser
    kept: dict[tuple[object, ...], list[Page]] = field(default_factory=lambda: defaultdict(list))
    """The pages of those that can be used again, by what they were opened with."""

    @contextmanager
    def opened(self, url: str, theme: str, zone: str, *, has_scripts: bool, is_kept: bool) -> Iterator[Page]:
        """Have a window that knows nothing of other tests."""
        kept = self.kept[url, theme, zone, has_scripts]
        page = kept.pop() if kept else self._new(url, theme, zone, has_scripts)
        yield page
        if is_kept:
            self._forget(page)
            kept.append(page)
        else:
            page.context.close()

    def _new(self, url: str, theme: str, zone: str, has_scripts: bool) -> Page:
        return self.browser.new_context(
            base_url=f"{url}/studio/",
            color_scheme=theme,  # type: ignore[arg-type]
            timezone_id=zone,
            java_script_enabled=has_scripts,
            reduced_motion="reduce",  # so that nothing is measured half-way through a change
        ).new_page()

    def _forget(self, page: Page) -> None:
        """Close all other pages, and forget all that a test has left, except for the files of the studio."""
        context = page.context
        for opened in context.pages:
            if opened != page:
                opened.close()
        context.set_offline(False)
        context.unroute_all()
        page.unroute_all()
        page.goto("/healthz")
        page.evaluate("localStorage.clear(), sessionStorage.clear()")
        page.mouse.move(0, 0)
        context.clear_cookies()


@pytest.fixture(scope="session")
def windows(browser: Browser) -> Windows:
    """The windows of this process."""
    return Windows(browser)


@pytest.fixture
def enter(
    windows: Windows, studio_service: Service, keys: dict[str, str], sessions: dict[str, Session]
) -> Iterator[Enter]:
    """A person's window on the studio: `enter("edgar", "versioning/agent/", width=NARROW)`.

    `enter()` opens an empty one, in which no person has signed in. At the end of the test, no page that
    is watched may have had an error or have sent a request to another host. A test that changes a window for
    good, by its clock, a script of its own or by closing its first page, says `is_kept=False`.
    """
    with entering(windows, studio_service, sessions) as open_window:
        yield open_window


@pytest.fixture(scope="module")
def window(
    windows: Windows, studio_service: Service, keys: dict[str, str], sessions: dict[str, Session]
) -> Iterator[Page]:
    """A window of alice in which the tests of a module open one page after the other."""
    with entering(windows, studio_service, sessions) as open_window:
        yield open_window("alice", is_kept=False)


@contextmanager
def entering(windows: Windows, service: Service, sessions: dict[str, Session]) -> Iterator[Enter]:
    """Yield what opens windows, and close them in the end, when it is found out what went wrong in them."""
    watched = Watched()

    def open_window(
        name: str = "",
        path: str = "",
        *,
        width: int = WIDE,
        theme: str = "light",
        zone: str = "UTC",
        has_scripts: bool = True,
        is_watched: bool = True,
        is_kept: bool = True,
    ) -> Page:
        if name in sessions and sessions[name].is_old:
            del sessions[name]
        known = sessions.get(name)
        how = {"has_scripts": has_scripts, "is_kept": is_kept}
        page = stack.enter_context(windows.opened(service.url, theme, zone, **how))
        page.set_viewport_size({"width": width, "height": 900})
        if is_watched:
            stack.enter_context(watched.watching(page))
        if known:
            page.context.add_cookies(known.cookies)
        elif name:
            sign_in(page, name)
            sessions[name] = Session(page.context.cookies())
        if name:
            page.goto(path)
        return page

    with ExitStack() as stack:
        yield open_window
    assert watched.errors == []
    assert watched.hosts <= {urlsplit(service.url).netloc}


def sign_in(page: Page, name: str, password: str = PASSWORD) -> None:
    """Sign in as people do."""
    page.goto("login/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()


def sign_out(page: Page) -> None:
    """Sign out as people do."""
    page.locator(".bar-user > summary").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="You have signed out")).to_be_visible()
