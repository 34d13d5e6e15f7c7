"""Rules of single values, which the fields of models state: all problems at once, named as in the API."""

from __future__ import annotations

import pytest

from capabilities.evaluation.gates.models import Gate
from capabilities.rollouts.models import Feedback
from tests.conftest import Cast
from versioning.domain.errors import Invalid, Issue
from versioning.models.rules import validate


def test_every_wrong_value_is_named_as_in_the_api() -> None:
    gate = Gate(tool_policy="sometimes", too_few="allow", bypass="")
    with pytest.raises(Invalid) as refused:
        validate(gate, ["tool_policy", "too_few", "bypass"], [Issue("rules", "are missing")])
    assert [issue.field for issue in refused.value.issues] == ["rules", "toolPolicy", "bypass"]
    texts = Feedback(name="n" * 10_000, comment="a\0b", external_id="\ud800")
    with pytest.raises(Invalid) as refused:
        validate(texts, ["name", "comment", "external_id"])
    assert [issue.field for issue in refused.value.issues] == ["name", "comment", "externalId"]


def test_what_fits_passes_and_a_text_may_be_empty() -> None:
    validate(
        Gate(tool_policy="allow", too_few="refuse", bypass="nobody"), ["tool_policy", "too_few", "bypass"]
    )
    validate(Feedback(name="", comment="", external_id=None), ["name", "comment", "external_id"])


@pytest.mark.django_db
def test_a_refusal_names_all_wrong_values_of_a_request(cast: Cast) -> None:
    long = {"url": f"https://example.com/{'a' * 10_000}", "description": "a" * 10_000}
    refused = cast.alice.post("/webhooks", {"workspaceId": "acme", **long, "eventTypes": []})
    assert (refused.status, {*refused.fields}) == (400, {"url", "description", "eventTypes"})
