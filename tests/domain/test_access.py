"""The role table in full, as verbs and queries use it; tests/api/test_roles.py covers the routes."""

from __future__ import annotations

import re
from itertools import product

import pytest

from versioning.domain.access import APPLICATION, COMMAND, Caller, Right, Role
from versioning.domain.errors import Forbidden

MAY = {
    Role.VIEWER: {Right.READ},
    Role.EDITOR: {Right.READ, Right.READ_DRAFTS, Right.SAVE},
    Role.PUBLISHER: {Right.READ, Right.READ_DRAFTS, Right.SAVE, Right.PUBLISH},
    Role.ADMIN: set(Right),
}


def test_a_role_has_its_rights_in_its_workspace_and_none_elsewhere() -> None:
    for role, right in product(Role, Right):
        caller = Caller(username="ann", roles={"acme": role, "other": Role.VIEWER})
        assert caller.may(right, "acme") == (right in MAY[role])
        assert not caller.may(right, "elsewhere")
        assert caller.scope(right) == {
            name for name, has in (("acme", MAY[role]), ("other", MAY[Role.VIEWER])) if right in has
        }


def test_a_global_role_outranks_a_lower_role_in_a_workspace() -> None:
    for role, right in product(Role, Right):
        caller = Caller(everywhere=role, roles={"acme": Role.VIEWER})
        assert caller.may(right, "acme") == caller.may(right, "elsewhere") == (right in MAY[role])
        everywhere_else = frozenset({"acme"} if right in MAY[Role.VIEWER] else set())
        assert caller.scope(right) == (None if right in MAY[role] else everywhere_else)


def test_a_role_in_a_workspace_outranks_a_lower_global_role() -> None:
    for right in Right:
        caller = Caller(everywhere=Role.VIEWER, roles={"acme": Role.ADMIN})
        assert caller.may(right, "acme")
        assert caller.may(right, "elsewhere") == (right in MAY[Role.VIEWER])


def test_a_caller_without_roles_is_refused_everything_with_a_reason() -> None:
    for right in Right:
        nobody = Caller(username="ann")
        assert "the workspace in" not in right.describe_refusal("acme")
        assert nobody.scope(right) == frozenset()
        with pytest.raises(Forbidden, match=re.escape(right.describe_refusal("acme"))):
            nobody.require(right, "acme")


def test_has_role_covers_workspace_roles_and_global_roles() -> None:
    assert Caller(everywhere=Role.VIEWER).has_role and Caller(roles={"acme": Role.VIEWER}).has_role
    assert not Caller(username="ann").has_role


def test_the_application_and_commands_may_do_everything() -> None:
    for right in Right:
        for caller in (APPLICATION, COMMAND):
            assert caller.may(right, "acme") and caller.scope(right) is None
            caller.require(right, "acme")


def test_a_limit_lowers_a_role_and_never_raises_it() -> None:
    for role, limit in product(Role, [None, *Role]):
        order = list(Role)
        lower = min(order.index(role), order.index(limit)) if limit else order.index(role)
        assert role.at_most(limit) is order[lower]
