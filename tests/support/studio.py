"""The client of the studio, without a browser: a visitor opens pages, sends forms and follows redirects.

`Visitor` is a person in this process, `visiting` opens the studio of a real server.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

import httpx2
from django.contrib.admin.utils import quote
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLResolver
from editor_client.certificates import ssl_context

from studio import site
from studio.kinds import AGENT, PROMPT_BLOCK, StudioKind
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind

KINDS: dict[Kind, StudioKind] = {AGENTS: AGENT, PROMPT_BLOCKS: PROMPT_BLOCK}
SIGN_IN = "/studio/login/"
_SHARED = re.compile(
    r"/studio/(versioning/promptblock|evaluation/scorer)/(?!add/|<str:resource>/(change|try-scorer)/)"
)
_ICON = re.compile(r"<span[^>]*aria-hidden[^>]*>.*?</span>")
_NOT_READ = re.compile(r"(?s)^.*<body|<(script|style).*?</\1>")


@dataclass(frozen=True)
class PageResponse:
    """The response of the studio, of Django's test client or of httpx."""

    response: Any

    @property
    def status(self) -> int:
        return int(self.response.status_code)

    @property
    def headers(self) -> Any:
        return self.response.headers

    @property
    def location(self) -> str:
        """Where a redirect leads."""
        return str(self.headers["Location"])

    @property
    def context(self) -> Any:
        """What the templates were rendered with."""
        return self.response.context

    @property
    def content(self) -> bytes:
        """The whole body, of a download too."""
        if getattr(self.response, "streaming", False):
            return b"".join(self.response.streaming_content)
        return bytes(self.response.content)

    @property
    def markup(self) -> str:
        """The HTML; empty for a stream."""
        return "" if getattr(self.response, "streaming", False) else self.content.decode()

    def json(self) -> Any:
        return self.response.json()

    @property
    def words(self) -> str:
        """The text of the whole page, without its scripts and styles, as one line."""
        return _words(_NOT_READ.sub("", self.markup))

    @property
    def text(self) -> str:
        """The text of the page below its bar, as one line."""
        return _words(self.markup.split("</header>")[-1])

    @property
    def rows(self) -> list[str]:
        """The rows of the table on the page, as text."""
        found = re.findall(r"<tr>(.*?)</tr>", self.markup, re.DOTALL)
        return [_words(_ICON.sub("", row)) for row in found if 'scope="col"' not in row]

    @property
    def links(self) -> list[str]:
        """Where the links of the page lead."""
        return [html.unescape(link) for link in re.findall(r'href="([^"]*)"', self.markup)]

    @property
    def one_time_secret(self) -> str:
        """The secret that the page shows once, such as a key or the link of an invitation."""
        found = re.search(r'id="once" value="([^"]+)"', self.markup)
        assert found is not None
        assert "no-store" in self.headers["Cache-Control"]
        return html.unescape(found[1])

    def field(self, name: str) -> str:
        """Return the value of a field of a form."""
        found = re.search(rf'name="{name}"[^>]* value="([^"]*)"', self.markup)
        assert found is not None, self.markup
        return html.unescape(found[1])


class Visitor:
    """A person at the studio: signed in, unless the name is empty."""

    def __init__(self, name: str = "", *, zone: str = "", **options: Any) -> None:
        """Open the studio; `zone` is the time zone of the browser, `options` are those of Django's client."""
        self.client = Client(**options)
        if zone:
            self.client.cookies["studio-zone"] = zone
        if name:
            self.client.force_login(User.objects.get(username=name))

    def get(self, address: str, query: Mapping[str, Any] | None = None, /, **more: Any) -> PageResponse:
        """Open a page; redirects are not followed without `follow`. `more` is as in `post`."""
        options = _options(more)
        return PageResponse(self.client.get(address, {**(query or {}), **more}, **options))

    def post(self, address: str, fields: Mapping[str, Any] | None = None, /, **more: Any) -> PageResponse:
        """Send a form; redirects are not followed.

        `more` are fields, the `headers` of the request, and in capitals variables of its environment.
        """
        options = _options(more)
        return PageResponse(self.client.post(address, {**(fields or {}), **more}, **options))

    def submit(self, address: str, fields: Mapping[str, Any] | None = None, /, **more: Any) -> PageResponse:
        """Send a form, and open the page that the response leads to."""
        return self.post(address, fields, follow=True, **more)

    def confirm(self, address: str, asked: PageResponse | None = None) -> PageResponse:
        """Open a confirmation page, if it is not yet open, and confirm, with the id if it asks for it."""
        asked = asked or self.get(address)
        typed = {"typed_id": address.rstrip("/").split("/")[-2]} if 'name="typed_id"' in asked.markup else {}
        return self.post(address, tag=asked.field("tag"), **typed)

    def list(self, kind: Kind, **query: str) -> list[str]:
        page = self.get(KINDS[kind].address("changelist"), **query)
        assert page.status == 200
        return page.rows

    def form(self, kind: Kind) -> dict[str, str]:
        """Open the edit page of `writer` and return the values of the form."""
        return controls(self.get(page_of(kind, "change")).markup, "edit-form")

    def save(self, kind: Kind, form: dict[str, str] | None = None, **typed: str) -> PageResponse:
        """Type into controls of the form (`instructions__text`) and save."""
        form = self.form(kind) if form is None else form
        changed = {name.replace("__", "."): text for name, text in typed.items()}
        return self.post(page_of(kind, "change"), form | changed)


class RemoteVisitor(Visitor):
    """A person at the studio of a real server, signed in or not."""

    def __init__(self, http: httpx2.Client) -> None:
        self.http = http

    def get(self, address: str, query: Mapping[str, Any] | None = None, /, **more: Any) -> PageResponse:
        options = {"follow_redirects": more.pop("follow", False), "headers": more.pop("headers", {})}
        return PageResponse(self.http.get(address, params={**(query or {}), **more} or None, **options))

    def post(self, address: str, fields: Mapping[str, Any] | None = None, /, **more: Any) -> PageResponse:
        """Send a form, with its token."""
        options = {"follow_redirects": more.pop("follow", False), "headers": more.pop("headers", {})}
        token = {"csrfmiddlewaretoken": self.http.cookies.get("csrftoken", "")}
        return PageResponse(self.http.post(address, data={**token, **(fields or {}), **more}, **options))

    def sign_in(self, username: str, password: str) -> bool:
        """Fill in the form, and return whether the sign-in succeeded."""
        self.get(SIGN_IN)
        return self.post(SIGN_IN, username=username, password=password).status == 302

    @property
    def is_signed_in(self) -> bool:
        return self.get("/studio/").status == 200


@contextmanager
def visiting(url: str) -> Iterator[RemoteVisitor]:
    """Open the studio of a server."""
    context = ssl_context()  # one of its own takes longer than most visits
    with httpx2.Client(base_url=url, trust_env=False, verify=context, timeout=60) as http:
        yield RemoteVisitor(http)


# Addresses


def page_of(kind: Kind, page: str, resource_id: str = "writer", *rest: str) -> str:
    """Return the URL of a page of a resource, by its name (`version`, with an id) or its path below it."""
    if "/" in page:
        return f"{KINDS[kind].address('change', resource_id).removesuffix('change/')}{page}/"
    return KINDS[kind].address(page, resource_id, *rest)


def workspace_page(page: str, workspace_id: str = "acme") -> str:
    """Return the URL of a page about a workspace."""
    return f"/studio/versioning/workspace/{quote(workspace_id)}/{page}/"


def studio_routes(patterns: Any = None, prefix: str = "/studio/") -> Iterator[str]:
    """Yield every URL of the studio, with placeholders."""
    for pattern in site.urls[0] if patterns is None else patterns:
        place = f"{prefix}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from studio_routes(pattern.url_patterns, place)
        elif "(?P" not in place:
            yield place


def distinct_routes() -> list[str]:
    """Return the routes of the studio; of pages that the kinds share, only those of agents.

    The forms in which a prompt block or a scorer is written are their own.
    """
    return [route for route in sorted(set(studio_routes())) if not _SHARED.match(route)]


def poll_address(markup: str) -> str:
    """Return the URL that an open page polls."""
    [address] = re.findall(r'data-ask="([^"]+)"', markup)
    return html.unescape(address)


# Forms


class _Controls(HTMLParser):
    """Collects the successful controls of the form with one id, or of all forms together."""

    def __init__(self, form_id: str | None) -> None:
        super().__init__()
        self.form_id = form_id
        self.inside = self.in_template = False
        self.disabled = 0
        self.typed: list[tuple[str, str]] = []
        self.select: str | None = None
        self.options: list[tuple[str, bool]] = []
        self.textarea: str | None = None
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.inside = self.form_id in {None, given.get("id")}
        elif tag == "template":
            self.in_template = True
        elif tag == "fieldset":
            self.disabled += "disabled" in given
        mine = (
            (self.inside or given.get("form") == self.form_id) and not self.in_template and not self.disabled
        )
        name = given.get("name", "")
        if tag == "option" and self.select is not None:
            self.options.append((given.get("value", ""), "selected" in given))
        elif not mine or not name:
            return
        elif tag == "input" and (given.get("type") != "radio" or "checked" in given):
            self.typed.append((name, given.get("value", "")))
        elif tag == "select":
            self.select, self.options = name, []
        elif tag == "textarea":
            self.textarea, self.text = name, ""

    def handle_data(self, data: str) -> None:
        if self.textarea is not None:
            self.text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.inside = False
        elif tag == "template":
            self.in_template = False
        elif tag == "select" and self.select is not None:
            chosen = [value for value, selected in self.options if selected] or [self.options[0][0]]
            self.typed.append((self.select, chosen[-1]))
            self.select = None
        elif tag == "textarea" and self.textarea is not None:
            # The first line feed belongs to the markup; the others are sent as CR LF.
            text = self.text.removeprefix("\n")
            self.typed.append((self.textarea, text.replace("\r\n", "\n").replace("\n", "\r\n")))
            self.textarea = None


def controls(page: str, form_id: str | None) -> dict[str, str]:
    """Return the values that the form with this id would send, in order; with None, those of all forms."""
    parser = _Controls(form_id)
    parser.feed(page)
    return dict(parser.typed)


def _options(more: dict[str, Any]) -> dict[str, Any]:
    return {name: more.pop(name) for name in [*more] if name in {"headers", "follow"} or name.isupper()}


def _words(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())
