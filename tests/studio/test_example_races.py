"""People who save examples at the same moment, on a server with two worker processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from threading import Barrier

import pytest

from studio.examples import MAX_EXAMPLES
from tests.support.api import PROMPT_BLOCKS
from tests.support.remote import RemoteApi, connected
from tests.support.service import Service, running_service
from tests.support.studio import RemoteVisitor, visiting
from tests.support.studio_cast import PASSWORD, make_cast

pytestmark = pytest.mark.postgresql

PEOPLE = ("alice", "paula", "edgar")
ROUNDS = 3
CONTEXT = "/studio/versioning/promptblock/{}/context/"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server with two workers and the cast of the studio."""
    with running_service(tmp_path_factory.mktemp("examples"), "--workers", "2") as running:
        yield running


@pytest.fixture(scope="module")
def api(service: Service) -> Iterator[RemoteApi]:
    """The API with alice's key."""
    with connected(service, make_cast(service)["alice"]) as remote:
        yield remote


@pytest.fixture(scope="module")
def visitors(service: Service, api: RemoteApi) -> Iterator[list[RemoteVisitor]]:
    """Three members of acme who may save, signed in."""
    with ExitStack() as stack:
        found = [stack.enter_context(visiting(service.url)) for _ in PEOPLE]
        for visitor, name in zip(found, PEOPLE, strict=True):
            assert visitor.sign_in(name, PASSWORD)
        yield found


def keep(visitor: RemoteVisitor, block: str, name: str) -> int:
    typed = {"do": "save_as", "example_name": name, "context": "{}"}
    return visitor.post(CONTEXT.format(block), typed).status


def at_once(*acts: Callable[[], int]) -> Counter[int]:
    """Run all actions at the same moment and count the statuses."""
    barrier = Barrier(len(acts))

    def act(one: Callable[[], int]) -> int:
        barrier.wait()
        return one()

    with ThreadPoolExecutor(len(acts)) as pool:
        return Counter(pool.map(act, acts))


def offered(visitor: RemoteVisitor, block: str) -> int:
    """Return how many examples the preview page offers."""
    page = visitor.get(f"/studio/versioning/promptblock/{block}/preview/").markup
    chooser = page.partition("data-example>")[2].partition("</select>")[0]
    return chooser.count('<option value="') - 1 if chooser else 0


def test_only_one_of_several_concurrent_saves_gets_a_name(
    api: RemoteApi, visitors: list[RemoteVisitor]
) -> None:
    PROMPT_BLOCKS.make(api, "named")
    for number in range(ROUNDS):
        statuses = at_once(*(partial(keep, visitor, "named", f"Gold {number}") for visitor in visitors))
        assert statuses == {200: 1, 409: len(visitors) - 1}
    assert offered(visitors[0], "named") == ROUNDS


def test_concurrent_saves_do_not_exceed_the_limit(api: RemoteApi, visitors: list[RemoteVisitor]) -> None:
    PROMPT_BLOCKS.make(api, "full")
    for number in range(MAX_EXAMPLES - 1):
        assert keep(visitors[0], "full", f"Example {number}") == 200
    lasts = (partial(keep, visitor, "full", f"Last {n}") for n, visitor in enumerate(visitors))
    statuses = at_once(*lasts)
    assert statuses == {200: 1, 400: len(visitors) - 1}
    assert offered(visitors[0], "full") == MAX_EXAMPLES


def test_saving_an_example_while_its_resource_is_deleted_is_refused(
    api: RemoteApi, visitors: list[RemoteVisitor]
) -> None:
    for _number in range(ROUNDS):
        PROMPT_BLOCKS.make(api, "going")
        keeping = (partial(keep, visitor, "going", f"Late {n}") for n, visitor in enumerate(visitors[1:]))
        statuses = at_once(lambda: api.delete(PROMPT_BLOCKS.url("going")).status, *keeping)
        assert set(statuses) <= {200, 404}
        PROMPT_BLOCKS.make(api, "going")
        assert offered(visitors[0], "going") == 0
        assert api.delete(PROMPT_BLOCKS.url("going")).status == 200
