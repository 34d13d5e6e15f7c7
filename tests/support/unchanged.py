"""All stored rows, to be compared before and after a request that must change nothing."""

from __future__ import annotations

from typing import Any

from django.apps import apps

from tests.support.api import Answer
from versioning.models import ApiKey, ThrottleWindow
from versioning.models.log import name_installation

# Reading alone changes these: the time of a key's last use, and the count of requests.
CHANGED_BY_READING = {ApiKey, ThrottleWindow}


def everything_stored() -> dict[str, list[tuple[Any, ...]]]:
    """Return every row of every model, by the model's name."""
    name_installation()  # which the first read with a key does, once
    return {
        model.__name__: sorted(model._default_manager.values_list(), key=repr)
        for model in apps.get_app_config("versioning").get_models()
        if model not in CHANGED_BY_READING
    }


def is_refusal(answer: Answer, status: int, code: str) -> bool:
    """Say whether an answer is this error and has the shape that all errors have."""
    body = answer.body
    return (
        answer.status == status
        and isinstance(body, dict)
        and isinstance(body.get("error"), str)
        and body["error"] != ""
        and body.get("code") == code
        and (status != 400 or code != "validation_failed" or _has_issues(body))
    )


def _has_issues(body: dict[str, Any]) -> bool:
    issues = body.get("issues", [])
    return bool(issues) and all(
        issue.keys() == {"field", "message"} and isinstance(issue["field"], str) and issue["message"]
        for issue in issues
    )
