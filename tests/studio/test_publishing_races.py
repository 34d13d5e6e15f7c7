"""Publishing many while others save, on a real server: nothing goes live that was not seen."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
import pytest

from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.browsing import sign_in, visiting
from tests.support.remote import RemoteApi, connected
from tests.support.service import Service, running_service
from tests.support.studio_cast import PASSWORD, make_cast

pytestmark = pytest.mark.database

EACH = 15
WORDS = {AGENTS.path: "agent", PROMPT_BLOCKS.path: "promptBlock"}
ROUNDS = 3


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server with two worker processes."""
    with running_service(tmp_path_factory.mktemp("races"), "--workers", "2") as running:
        yield running


def save(api: RemoteApi, resources: list[tuple[Kind, str]]) -> None:
    for kind, name in resources:
        kind.save(api, name, "newer")


def send(visitor: httpx.Client, **fields: object) -> str:
    token = visitor.cookies["csrftoken"]
    sent = visitor.post("/studio/publish/", data={**fields, "csrfmiddlewaretoken": token})
    assert sent.status_code == httpx.codes.OK, sent.text
    return sent.text


def test_exactly_what_was_seen_goes_live_or_nothing(service: Service) -> None:
    keys = make_cast(service)
    with ExitStack() as stack:
        visitor = stack.enter_context(visiting(service.url))
        assert sign_in(visitor, "paula", PASSWORD)
        savers = [stack.enter_context(connected(service, keys[name])) for name in ("edgar", "alice", "edgar")]
        edgar = savers[0]
        results = set()
        for turn in range(ROUNDS):
            resources = [(kind, f"r{turn}-{n}") for kind in (AGENTS, PROMPT_BLOCKS) for n in range(EACH)]
            seen = {one: one[0].make(edgar, one[1])["latestVersionId"] for one in resources}
            chosen = [f"{WORDS[kind.path]}:{name}:{version}" for (kind, name), version in seen.items()]
            asked = send(visitor, chosen=chosen)
            tags = {
                html.unescape(name): tag
                for name, tag in re.findall(r'name="(tag:[^"]*)" value="([^"]*)"', asked)
            }
            assert len(tags) == len(resources)
            with ThreadPoolExecutor(4) as threads:
                publishing = threads.submit(send, visitor, chosen=chosen, confirmed="yes", **tags)
                saving = [
                    threads.submit(save, saver, resources[::-1][place::3])
                    for place, saver in enumerate(savers)
                ]  # from the end, so that they meet
                report = publishing.result()
                assert [one.result() for one in saving] == [None] * len(savers)
            for (kind, name), version in seen.items():
                record = edgar.get(kind.url(name), status="draft").body
                assert record["activeVersionId"] in {None, version}
                assert record[kind.text] == "newer", "a save was lost"
                results.add(record["activeVersionId"] is not None)
            live = sum(
                edgar.get(kind.url(name), status="draft").body["activeVersionId"] is not None
                for kind, name in resources
            )
            assert [int(one) for one in re.findall(r"(\d+) (?:is|are) live now", report)] in ([live], [])
            refused = [int(one) for one in re.findall(r"(\d+) (?:was|were) not published", report)]
            assert sum(refused) == len(resources) - live
        assert results == {True, False}, "they never met"
