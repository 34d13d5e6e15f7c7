"""A person's window on the lists and the frame of the studio, without a browser: pages as text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLResolver

from studio import site
from studio.kinds import AGENT, PROMPT_BLOCK, StudioKind
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind

KINDS: dict[Kind, StudioKind] = {AGENTS: AGENT, PROMPT_BLOCKS: PROMPT_BLOCK}
_SHARED = re.compile(
    r"/studio/(versioning/promptblock|evaluation/scorer)/(?!add/|<str:resource>/(change|try-scorer)/)"
)
_ICON = re.compile(r"<span[^>]*aria-hidden[^>]*>.*?</span>")


@dataclass(frozen=True)
class Seen:
    """A page."""

    status: int
    markup: str
    headers: Any

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

    def field(self, name: str) -> str:
        """Return the value of a field of a form."""
        found = re.search(rf'name="{name}"[^>]* value="([^"]*)"', self.markup)
        assert found is not None, self.markup
        return html.unescape(found[1])


@dataclass
class Window:
    """A person's window on the studio."""

    client: Client

    @classmethod
    def of(cls, name: str, *, zone: str = "") -> Window:
        """Open the window of a signed-in person, whose browser is in a time zone."""
        window = cls(Client(raise_request_exception=False))
        if zone:
            window.client.cookies["studio-zone"] = zone
        window.client.force_login(User.objects.get(username=name))
        return window

    def get(self, address: str, **query: str) -> Seen:
        """Open a page; redirects are not followed."""
        return seen_in(self.client.get(address, query))

    def post(self, address: str, **fields: str) -> Seen:
        """Send a form."""
        return seen_in(self.client.post(address, fields))

    def confirm(self, address: str, asked: Seen | None = None) -> Seen:
        """Open a confirmation page, if it is not yet open, and confirm, with the id if it asks for it."""
        asked = asked or self.get(address)
        typed = {"typed_id": address.rstrip("/").split("/")[-2]} if 'name="typed_id"' in asked.markup else {}
        return self.post(address, tag=asked.field("tag"), **typed)

    def list(self, kind: Kind, **query: str) -> list[str]:
        """Return the rows of a list."""
        seen = self.get(KINDS[kind].address("changelist"), **query)
        assert seen.status == 200
        return seen.rows


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
    return [one for one in sorted(set(studio_routes())) if not _SHARED.match(one)]


def page_of(kind: Kind, page: str, resource_id: str = "writer", *rest: str) -> str:
    """Return the URL of a page of a resource."""
    return KINDS[kind].address(page, resource_id, *rest)


def seen_in(response: Any) -> Seen:
    """Return what Django's test client was answered; of a stream nothing but its head."""
    markup = "" if response.streaming else response.content.decode()
    return Seen(response.status_code, markup, response.headers)


def _words(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())
