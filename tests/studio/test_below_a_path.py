"""A service that is mounted below a path: every address in its pages and answers begins with it."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.shortcuts import resolve_url
from django.test import Client
from django.test.utils import override_script_prefix

from capabilities.mail.conf import public_address
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.datasets import add_item, make_dataset
from tests.support.people import key_of
from tests.support.scorers import make_scorer
from tests.support.served import reference
from versioning.api.limits import REFUSAL, Refusal
from versioning.domain.access import Action

MOUNT = "/team"
ADDRESS = re.compile(r"""["'=(\s](/(?:studio|static|api|scim)\b[^"'\s)]*)""")
"""An address without the path of the mount, wherever it stands in a page."""


class Mounted:
    """A browser, or a program, in front of the mounted service."""

    def __init__(self, username: str | None = None) -> None:
        self.client = Client(SCRIPT_NAME=MOUNT)
        if username is not None:
            self.client.force_login(User.objects.get(username=username))

    def get(self, address: str, **headers: Any) -> Any:
        """Follow an address of a page."""
        path, _, query = address.partition("?")
        assert path.startswith(f"{MOUNT}/"), address
        with override_script_prefix(f"{MOUNT}/"):  # as a server does with a `SCRIPT_NAME`
            answer = self.client.get(f"{path.removeprefix(MOUNT)}?{query}", headers=headers)
        if answer.streaming:  # a file
            answer.close()
        return answer


def test_all_addresses_in_pages_begin_with_the_path(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.alice, "tone", "Be kind.", autoPublish=True)
    AGENTS.make(cast.alice, "writer", [reference("tone")], autoPublish=True)
    AGENTS.save(cast.alice, "writer", "Another text.")
    make_scorer(cast.alice, "exact")
    add_item(cast.alice, make_dataset(cast.alice), input="one")
    alice, seen = Mounted("alice"), set[str]()
    pending = [f"{MOUNT}/", f"{MOUNT}/studio", f"{MOUNT}/studio/versioning/agent/writer/change/"]
    while pending and len(seen) < 150:
        address = pending.pop(0).partition("#")[0]
        if address in seen or "/logout" in address:
            continue
        seen.add(address)
        answer = alice.get(address)
        if answer.has_header("Location"):
            pending.append(answer["Location"])
            continue
        text = "" if answer.streaming else answer.content.decode()
        assert answer.status_code < 500 and ADDRESS.findall(text) == [], address
        pending += [
            unescape(link)
            for link in re.findall(r'<(?:a|link|script)\s[^>]*(?:href|src)="([^"]*)"', text)
            if link.startswith(f"{MOUNT}/") and "?" not in link
        ]
    files = {address for address in seen if address.startswith(f"{MOUNT}/static/")}
    assert len(files) > 5 and len(seen - files) > 60


def test_visitors_are_sent_to_the_sign_in_page_below_the_path(cast: Cast) -> None:
    visitor = Mounted()
    page = f"{MOUNT}/studio/versioning/agent/"
    signing_in = visitor.get(page)
    assert signing_in["Location"] == f"{MOUNT}/studio/login/?next={page}"
    with override_script_prefix(f"{MOUNT}/"):
        refused = visitor.client.post(page.removeprefix(MOUNT), **{REFUSAL: Refusal.TOO_LARGE_FOR_ANONYMOUS})
        assert refused["Location"] == f"{MOUNT}/studio/login/?next={page}"
        login = visitor.client.post("/studio/login/", **{REFUSAL: Refusal.TOO_LARGE_FOR_ANONYMOUS})
        assert login.status_code == 413
        assert resolve_url("studio:index") == f"{MOUNT}/studio/"


def test_static_files_have_the_address_of_each_request(cast: Cast) -> None:
    sheet = re.compile(r'href="([^"]*[.]css)"')
    mounted = sheet.findall(Mounted().get(f"{MOUNT}/studio/login/").content.decode())
    at_root = sheet.findall(Client().get("/studio/login/").content.decode())
    assert at_root and mounted == [f"{MOUNT}{address}" for address in at_root]
    assert Mounted().get(mounted[0]).status_code == 200


def test_addresses_in_answers_to_the_directory_begin_with_the_path(cast: Cast) -> None:
    key = key_of("root", actions=[Action.DIRECTORY]).key
    headers = {"authorization": f"Bearer {key}"}
    for path in ("Users", "ResourceTypes", "ServiceProviderConfig"):
        answer = Mounted().get(f"{MOUNT}/scim/v2/{path}", **headers)
        assert answer.status_code == 200, answer.content
        places = re.findall(r'"location": ?"([^"]*)"', json.dumps(answer.json()))
        assert places and {urlsplit(place).path.startswith(f"{MOUNT}/scim/v2/") for place in places} == {True}


@pytest.mark.parametrize("prefix", ["/", "/team/"])
def test_links_in_mail_have_the_path_once(settings: Any, prefix: str) -> None:
    settings.EDITOR_PUBLIC_URL = "https://example.com/team"
    with override_script_prefix(prefix):  # `FORCE_SCRIPT_NAME`, or a request
        assert public_address(resolve_url("studio:index")) == "https://example.com/team/studio/"
