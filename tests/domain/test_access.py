"""The role table in full, as every verb and query asks it; tests/api/test_roles.py asks the routes."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest

from versioning.domain.access import APPLICATION, COMMAND, Caller, Right, Role
from versioning.domain.errors import Forbidden

MAY = {
    Role.VIEWER: {Right.READ},
    Role.EDITOR: {Right.READ, Right.READ_DRAFTS, Right.SAVE},
    Role.PUBLISHER: {Right.READ, Right.READ_DRAFTS, Right.SAVE, Right.PUBLISH},
    Role.ADMIN: set(Right),
}


@pytest.mark.parametrize(("role", "right"), [*product(Role, Right)])
def test_a_role_has_its_rights_in_its_workspace_and_none_elsewhere(role: Role, right: Right) -> None:
    caller = Caller(username="ann", roles={"acme": role, "other": Role.VIEWER})
    assert caller.may(right, "acme") == (right in MAY[role])
    assert not caller.may(right, "elsewhere")
    assert caller.scope(right) == {
        name for name, has in (("acme", MAY[role]), ("other", MAY[Role.VIEWER])) if right in has
    }


@pytest.mark.parametrize(("role", "right"), [*product(Role, Right)])
def test_a_role_everywhere_holds_in_every_workspace_beside_a_lower_one(role: Role, right: Right) -> None:
    caller = Caller(everywhere=role, roles={"acme": Role.VIEWER})
    assert caller.may(right, "acme") == caller.may(right, "elsewhere") == (right in MAY[role])
    everywhere_else = frozenset({"acme"} if right in MAY[Role.VIEWER] else set())
    assert caller.scope(right) == (None if right in MAY[role] else everywhere_else)


@pytest.mark.parametrize("right", Right)
def test_a_higher_role_in_a_workspace_counts_beside_a_lower_one_everywhere(right: Right) -> None:
    caller = Caller(everywhere=Role.VIEWER, roles={"acme": Role.ADMIN})
    assert caller.may(right, "acme")
    assert caller.may(right, "elsewhere") == (right in MAY[Role.VIEWER])


@pytest.mark.parametrize("right", Right)
def test_who_is_a_member_of_nothing_may_do_nothing_and_is_told_what_is_refused(right: Right) -> None:
    nobody = Caller(username="ann")
    assert "the workspace in" not in right.refused("acme")
    assert nobody.scope(right) == frozenset()
    with pytest.raises(Forbidden, match=re.escape(right.refused("acme"))):
        nobody.require(right, "acme")


@pytest.mark.parametrize("limits", [{"everywhere": Role.VIEWER}, {"roles": {"acme": Role.VIEWER}}])
def test_a_role_in_a_workspace_and_one_everywhere_are_roles(limits: dict[str, Any]) -> None:
    assert Caller(username="ann", **limits).has_role
    assert not Caller(username="ann").has_role


@pytest.mark.parametrize("right", Right)
@pytest.mark.parametrize("caller", [APPLICATION, COMMAND], ids=["application", "command"])
def test_the_application_and_a_command_may_do_everything(caller: Caller, right: Right) -> None:
    assert caller.may(right, "acme") and caller.scope(right) is None
    caller.require(right, "acme")


@pytest.mark.parametrize(("role", "limit"), [*product(Role, [None, *Role])])
def test_a_limit_lowers_a_role_and_never_raises_it(role: Role, limit: Role | None) -> None:
    order = list(Role)
    lower = min(order.index(role), order.index(limit)) if limit else order.index(role)
    assert role.at_most(limit) is order[lower]
