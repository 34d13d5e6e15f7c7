"""`Editor-Rights`: the name of the rights that an answer was made for, by which clients hold it."""

from __future__ import annotations

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, Api
from tests.support.door import FrontDoor
from tests.support.people import give_role, key_of
from versioning.models import LogPosition
from versioning.serving.followed_keys import keys

HEADER = "Editor-Rights"


def named(api: Api, path: str = "/agents") -> str:
    """Return the name that the answer has."""
    return str(api.get(path).headers[HEADER])


def test_equal_rights_of_an_installation_have_equal_names(cast: Cast) -> None:
    name = named(cast.edgar)
    assert name.partition("-")[0] == LogPosition.objects.get().installation
    keys.clear()  # as after a restart
    alike = [cast.edgar, key_of("edgar"), key_of("alice", role="editor"), key_of("edgar", workspace="acme")]
    assert {named(api) for api in alike} == {name}
    others = [cast.alice, cast.vera, cast.charlie, key_of("edgar", actions=["read"], id_prefix="team/")]
    found = {named(api) for api in others}
    assert len(found) == len(others) and name not in found
    give_role("edgar", "acme", "viewer")
    assert named(cast.edgar) == named(cast.vera) != name


def test_every_answer_to_a_read_with_a_key_names_the_rights(cast: Cast) -> None:
    AGENTS.make(cast.alice, "writer", autoPublish=True)
    name = named(cast.vera)
    for path in ("/agents/writer", "/stored/agents", "/stored/agents/gone", "/events", "/agents?surprise=1"):
        assert named(cast.vera, path) == name
    for api, path in ((Api(""), "/agents"), (Api("ek_wrong"), "/agents"), (cast.vera, "/nothing")):
        assert HEADER not in api.get(path).headers


@pytest.mark.database
@pytest.mark.usefixtures("committed_db")
def test_cached_answers_name_the_rights(cast: Cast) -> None:
    for agent_id in ("writer", "another"):
        AGENTS.make(cast.alice, agent_id, autoPublish=True)
    door = FrontDoor(cast.vera.key)
    name = named(cast.vera)
    for _ in range(2):  # the second is cached, and for the other agent made without Django
        for agent_id in ("writer", "another"):
            for query in ({}, {"form": "parts"}):
                answer = door.get(f"/agents/{agent_id}", **query)
                assert answer.headers[HEADER] == name
                again = door.request(
                    "GET", f"/agents/{agent_id}", query=query, if_none_match=answer.headers["ETag"]
                )
                assert (again.status, again.headers[HEADER]) == (304, name)
