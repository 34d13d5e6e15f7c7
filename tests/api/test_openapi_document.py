"""The OpenAPI document as it is served: built once, in the requested format, to every caller."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
import yaml
from django.test import Client
from django.test.utils import override_script_prefix
from drf_spectacular.generators import SchemaGenerator

from tests.support.api import AGENTS, Answer, Api
from tests.support.unchanged import is_refusal
from versioning.api import openapi
from versioning.api.openapi import MadeOnce

THREADS = 20
SERVED = ("/schema", "/docs")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The documents that are built from now on, in a process that has built none yet."""
    found: list[str] = []

    def noted(self: SchemaGenerator, *arguments: Any, **named: Any) -> dict[str, Any]:
        found.append("schema")
        time.sleep(0.1)  # others ask meanwhile
        return {"openapi": "3.1.0"}

    monkeypatch.setattr(SchemaGenerator, "get_schema", noted)
    monkeypatch.setattr(openapi, "_documents", MadeOnce())
    monkeypatch.setattr(openapi, "_texts", MadeOnce())
    return found


def fetch(path: str, **headers: str) -> Answer:
    """Send a request without a key, in a test that may not use the database."""
    return Api("").request("GET", path, **headers)


def test_concurrent_requests_build_the_document_once(made: list[str]) -> None:
    together = Barrier(THREADS)

    def ask(_: int) -> bytes:
        client = Client()
        together.wait()
        return client.get("/api/schema").content

    with ThreadPoolExecutor(THREADS) as threads:
        contents = set(threads.map(ask, range(THREADS)))
    assert made == ["schema"] and len(contents) == 1


def test_below_a_path_the_server_and_new_addresses_begin_with_it(alice: Api) -> None:
    with override_script_prefix("/team/"):  # as a server with a `SCRIPT_NAME` does
        described = fetch("/schema", accept="application/json").body
        made = alice.post(AGENTS.path, AGENTS.body(id="writer"))
    assert described["servers"] == [{"url": "/team/api"}]
    assert "/agents/{id}/parts" in described["paths"]
    assert (made.status, made.headers["Location"]) == (201, "/team/api/stored/agents/writer")
    assert fetch("/schema", accept="application/json").body["servers"] == [{"url": "/api"}]


def test_no_header_or_parameter_makes_the_document_build_again(made: list[str]) -> None:
    fetch("/schema")
    for accept in ("application/json", "application/yaml", "*/*"):
        fetch("/schema", accept=accept, authorization="Bearer ek_unknown", cookie="sessionid=unknown")
        fetch("/schema?lang=de&version=2&format=yaml", accept=accept, host="localhost")
    assert made == ["schema"]


@pytest.mark.django_db
@pytest.mark.parametrize("path", SERVED)
def test_a_read_of_the_document_with_its_etag_is_a_304_for_every_caller(path: str) -> None:
    first = fetch(path, authorization="Bearer ek_unknown")
    again = fetch(path, if_none_match=f'"other", W/{first.etag}')
    assert (first.status, again.status, again.etag, again.body) == (200, 304, first.etag, None)
    assert fetch(path, if_none_match='"other"').status == 200


MEDIA_TYPES = {
    "*/*": "application/vnd.oai.openapi+json",
    "application/json": "application/json",
    "application/json;q=0.5, application/yaml;q=0.9": "application/yaml",
    "application/vnd.oai.openapi": "application/vnd.oai.openapi",
    "text/html, application/json;q=0.9": "application/json",
}
"""The form of the document by what is accepted."""


def test_the_document_is_served_in_the_requested_format() -> None:
    contents: dict[str, set[bytes]] = {"json": set(), "yaml": set()}
    for accept, media_type in MEDIA_TYPES.items():
        response = Client().get("/api/schema", HTTP_ACCEPT=accept)
        assert response.headers["Content-Type"].partition(";")[0] == media_type
        assert response.headers["Vary"] == "Accept"
        contents["json" if media_type.endswith("json") else "yaml"].add(response.content)
    [as_json], [as_yaml] = contents.values()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    assert json.loads(as_json) == yaml.load(as_yaml, loader) == openapi.document()


def test_each_format_of_the_document_has_its_own_etag() -> None:
    tags = {fetch("/schema", accept=f"application/{form}").etag for form in ("json", "yaml")}
    assert len(tags) == 2


def test_an_unknown_format_of_the_document_is_refused() -> None:
    assert is_refusal(fetch("/schema", accept="text/csv"), 406, "not_acceptable")
