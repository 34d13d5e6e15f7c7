"""The policy of a workspace: who reads it, who changes it, and its entries in the log."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from versioning.conf import get_editor
from versioning.domain.errors import Forbidden, Invalid, NotFound
from versioning.models import Event, caller_for
from versioning.models.accounts import account

POLICY = "/workspaces/acme/review-policy"


def test_without_a_policy_no_approval_is_required(cast: Cast) -> None:
    answer = cast.vera.get(POLICY)
    assert (answer.status, answer.body) == (200, {"required": 0, "bypass": "admin"})


def test_admins_and_superusers_change_the_policy(cast: Cast) -> None:
    body = {"required": 2, "bypass": "nobody"}
    for admin in (cast.alice, cast.root):
        assert admin.put(POLICY, body).body == body
        assert cast.vera.get(POLICY).body == body
    assert cast.root.get("/workspaces/nowhere/review-policy").status == 404


def test_absent_members_of_a_policy_take_their_defaults(cast: Cast) -> None:
    cast.alice.put(POLICY, {"required": 2, "bypass": "nobody"})
    assert cast.alice.put(POLICY, {"required": 1}).body == {"required": 1, "bypass": "admin"}
    assert cast.alice.put(POLICY, {"bypass": "nobody"}).body == {"required": 0, "bypass": "nobody"}
    assert cast.alice.put(POLICY).body == {"required": 0, "bypass": "admin"}


def test_bad_policies_are_refused(cast: Cast) -> None:
    for body, field in [
        ({"required": -1}, "required"),
        ({"required": 6}, "required"),
        ({"required": 1.5}, "required"),
        ({"required": "1"}, "required"),
        ({"required": True}, "required"),
        ({"required": None}, "required"),
        ({"bypass": "anybody"}, "bypass"),
        ({"bypass": None}, "bypass"),
        ({"approvals": 1}, "approvals"),
        ([], "body"),
    ]:
        answer = cast.alice.put(POLICY, body)
        assert (answer.status, answer.fields) == (400, [field])


def test_python_refuses_the_same(cast: Cast) -> None:
    policies = get_editor().review_policy
    for given in ({"required": 6}, {"required": True}, {"bypass": "anybody"}):
        with pytest.raises(Invalid):
            policies.set("acme", **given)
    people = [account(name) for name in ("edgar", "charlie")]
    for person, error in zip(people, (Forbidden, NotFound), strict=True):
        assert person is not None
        with pytest.raises(error):
            policies.set("acme", required=1, by=caller_for(person))
    with pytest.raises(NotFound):
        policies.get("nowhere")
    assert policies.set("acme", required=1).required == policies.get("acme").required == 1


def test_only_effective_changes_of_the_policy_are_logged(cast: Cast) -> None:
    def changes() -> list[Any]:
        return list(Event.objects.filter(type="workspace.updated").values_list("actor", "detail"))

    cast.alice.put(POLICY, {"required": 0})
    assert changes() == []
    for _ in range(2):
        cast.alice.put(POLICY, {"required": 2})
    before = {"required": 0, "bypass": "admin"}
    detail = {"fields": ["reviewPolicy"], "required": 2, "bypass": "admin", "before": before}
    assert changes() == [("alice", detail)]
