"""People who sign in, invite and accept at the same moment, on a server with two worker processes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.support.service import Service, running_service
from tests.support.studio import SIGN_IN, RemoteVisitor, visiting
from tests.support.studio_cast import PASSWORD, make_cast

pytestmark = pytest.mark.postgresql

WELCOME = "/studio/versioning/workspace/welcome/"
ROUNDS = 2
AT_ONCE = 4
ATTEMPTS = 24

Act = Callable[[RemoteVisitor], int]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server with two workers and the cast of the studio."""
    with running_service(tmp_path_factory.mktemp("accounts"), "--workers", "2") as running:
        make_cast(running)
        yield running


@pytest.fixture(scope="module")
def alice(service: Service) -> Iterator[RemoteVisitor]:
    """The admin of acme, signed in."""
    with visiting(service.url) as visitor:
        assert visitor.sign_in("alice", PASSWORD)
        yield visitor


@pytest.fixture(scope="module")
def charlie(service: Service) -> Iterator[RemoteVisitor]:
    """The admin of elsewhere, signed in."""
    with visiting(service.url) as visitor:
        assert visitor.sign_in("charlie", PASSWORD)
        yield visitor


def page(workspace: str, rest: str = "members/") -> str:
    return f"/studio/versioning/workspace/{workspace}/{rest}"


def link_for(visitor: RemoteVisitor, workspace: str, name: str, role: str = "editor") -> str:
    assert visitor.post(page(workspace), username=name, role=role).status == 302
    return visitor.get(page(workspace)).one_time_secret


def run_concurrently(
    service: Service, links: Sequence[str], act: Callable[[RemoteVisitor, str], int]
) -> list[int]:
    """Let a visitor open each of the links, then run the action for all of them at the same moment."""
    barrier = Barrier(len(links))

    def one(link: str) -> int:
        with visiting(service.url) as visitor:
            number = re.search(r'name="invitation" value="(\d+)"', visitor.get(link, follow=True).markup)
            barrier.wait()
            return act(visitor, number[1] if number else "")

    with ThreadPoolExecutor(len(links)) as threads:
        return list(threads.map(one, links))


def choose_a_password(visitor: RemoteVisitor, number: str) -> int:
    typed = {"invitation": number, "new_password1": PASSWORD, "new_password2": PASSWORD}
    return visitor.post(WELCOME, **typed).status


def memberships(service: Service, name: str) -> list[tuple[str, str]]:
    printed = service.manage(
        "shell",
        "--no-imports",
        "-c",
        "import json; from versioning.models import Membership; "
        f"print(json.dumps(list(Membership.objects.filter(user__username={name!r})"
        ".values_list('workspace_id', 'role'))))",
    )
    return [tuple(row) for row in json.loads(printed)]


def test_an_invitation_link_opened_concurrently_is_accepted_once(
    service: Service, alice: RemoteVisitor
) -> None:
    for turn in range(ROUNDS):
        link = link_for(alice, "acme", f"lena-{turn}")
        statuses = run_concurrently(service, [link] * AT_ONCE, choose_a_password)
        assert Counter(statuses)[302] == 1 and max(statuses) < 500, statuses
    assert memberships(service, "lena-0") == [("acme", "editor")]


def test_a_name_invited_by_two_workspaces_becomes_one_account_in_one_of_them(
    service: Service, alice: RemoteVisitor, charlie: RemoteVisitor
) -> None:
    for turn in range(ROUNDS):
        name = f"nina-{turn}"
        links = [link_for(alice, "acme", name), link_for(charlie, "elsewhere", name, "admin")]
        statuses = run_concurrently(service, links, choose_a_password)
        assert Counter(statuses)[302] == 1 and max(statuses) < 500, statuses
        joined = [("acme", "editor")] if statuses[0] == 302 else [("elsewhere", "admin")]
        assert memberships(service, name) == joined
    links = [link_for(alice, "acme", "rita"), link_for(charlie, "elsewhere", "RITA")]
    assert Counter(run_concurrently(service, links, choose_a_password)) == {302: 1, 409: 1}


def test_an_invitation_withdrawn_while_it_is_accepted_is_either_withdrawn_or_accepted(
    service: Service, alice: RemoteVisitor
) -> None:
    for turn in range(ROUNDS):
        name = f"olga-{turn}"
        link = link_for(alice, "acme", name)

        def withdraw_or_accept(visitor: RemoteVisitor, number: str) -> int:
            if number:
                return choose_a_password(visitor, number)
            return alice.post(page("acme", f"invitations/{name}/withdraw/")).status  # noqa: B023

        accepted, withdrawn = run_concurrently(service, [link, page("acme")], withdraw_or_accept)
        assert (accepted, withdrawn) in {(302, 404), (404, 302)}
        assert memberships(service, name) == ([("acme", "editor")] if accepted == 302 else [])


def test_concurrent_invitations_of_one_name_make_one_invitation(
    service: Service, alice: RemoteVisitor
) -> None:
    barrier = Barrier(AT_ONCE)

    def invite(_turn: int) -> int:
        with visiting(service.url) as visitor:
            visitor.http.cookies.update(alice.http.cookies)
            barrier.wait()
            return visitor.post(page("acme"), username="paul", role="viewer").status

    with ThreadPoolExecutor(AT_ONCE) as threads:
        assert Counter(threads.map(invite, range(AT_ONCE))) == {302: 1, 400: AT_ONCE - 1}


def test_parallel_wrong_passwords_are_mostly_rejected_unchecked(service: Service) -> None:
    barrier = Barrier(ATTEMPTS)

    def attempt(_turn: int) -> int:
        with visiting(service.url) as visitor:
            visitor.get(SIGN_IN)
            barrier.wait()
            return visitor.post(SIGN_IN, username="vera", password="wrong").status

    with ThreadPoolExecutor(ATTEMPTS) as threads:
        statuses = Counter(threads.map(attempt, range(ATTEMPTS)))
    assert statuses[200] == 5 and statuses.keys() <= {200, 429, 503}  # a busy machine may put some off
    assert service.log.count('"event": "a wrong password"') == 5
