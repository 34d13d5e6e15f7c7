"""A person at the studio, without a browser: opens pages and sends forms."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from django.contrib.admin.utils import quote
from django.contrib.auth.models import User
from django.test import Client

from tests.support.api import AGENTS, Kind

MODELS = {True: "agent", False: "promptblock"}


class Visitor:
    """A person who is signed in."""

    def __init__(self, name: str) -> None:
        self.client = Client()
        self.client.force_login(User.objects.get(username=name))

    def get(self, address: str, **query: str) -> Any:
        """Open a page."""
        return self.client.get(address, query)

    def send(self, address: str, **typed: str) -> Any:
        """Send a form; redirects are not followed."""
        return self.client.post(address, typed)

    def post(self, address: str, **typed: str) -> Any:
        """Send a form, and open the page that the answer leads to."""
        return self.client.post(address, typed, follow=True)


def page_of(kind: Kind, page: str, resource_id: str = "writer") -> str:
    """Return the URL of a page about a resource, such as `history` or `versions/<id>`."""
    return f"/studio/versioning/{MODELS[kind is AGENTS]}/{quote(resource_id)}/{page}/"


def workspace_page(page: str, workspace_id: str = "acme") -> str:
    """Return the URL of a page about a workspace."""
    return f"/studio/versioning/workspace/{quote(workspace_id)}/{page}/"


def shown_once(answer: Any) -> str:
    """Return the secret that a page shows, such as a key or the link of an invitation."""
    found = re.search(r'id="once" value="([^"]+)"', answer.content.decode())
    assert found is not None
    assert "no-store" in answer["Cache-Control"]
    return found[1]


def words_of(answer: Any) -> str:
    """Return the text of the page, without its scripts and styles, as a single line."""
    body = re.sub(r"(?s)^.*<body|<(script|style).*?</\1>", "", answer.content.decode())
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


def tag_on(answer: Any) -> str:
    """Return the tag that the forms of a page carry."""
    found = re.search(r'name="tag" value="(\w+)"', answer.content.decode())
    assert found is not None
    return found[1]


def news_of(shown: str) -> str:
    """Return the URL that an open page polls."""
    [address] = re.findall(r'data-ask="([^"]+)"', shown)
    return unescape(address)
