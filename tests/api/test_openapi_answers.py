"""Every answer matches the OpenAPI document, to honest and to generated requests."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from copy import deepcopy
from typing import Any

import pytest
import schemathesis
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import CheckFunction, not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.core.transport import Response
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    positive_data_acceptance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from editor_project.wsgi import application
from tests.conftest import Cast
from tests.support.api import Api, Kind
from tests.support.door import one_connection
from tests.support.honest_requests import existing, honest, make_one_of_everything
from tests.support.openapi import CREATING, NEVER_SUCCEEDING, ROUTES, route_of

CHECKS: list[CheckFunction] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
GENERATION = settings(
    max_examples=settings().max_examples // 25,  # two in `make test`
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)

FOR_SUPERUSERS = {"POST /workspaces", "DELETE /workspaces/{}", "POST /people/{}/erase"}
SHOWN_ONCE = re.compile(rb'"secret"|"key":"ek_|"url":"[^"]*/welcome/')

# A base that has changed and an agent that cannot run are no problem of the request itself.
REFUSALS = ["401", "403", "404", "409", "410", "412", "422", "424"]
CONFIG = SchemathesisConfig.from_dict(
    {
        "analysis": {"constants": {"enabled": False}},  # reading the code takes longer than asking
        "generation": {"allow-x00": False},  # which no text may hold, and no schema says of each
        "checks": {
            "positive_data_acceptance": {"expected-statuses": ["2xx", *REFUSALS]},
            "negative_data_rejection": {"expected-statuses": ["400", "405", "406", "415", *REFUSALS]},
        },
    }
)

# Conditions that no schema can express; every other reason for a refusal has to be in the document.
NOT_TO_BE_SAID = {
    r"requestContext|metadata": "is not base64|is not valid JSON|is not valid UTF-8|must be a JSON object",
    r"metadata\..*": "must begin with a letter",
    r"type|eventTypes\.\d+": "is not a type of event",
    r"url": "has a host|has no host|has an invalid port|must begin with http|must not h|is not a URL",
    r"enabled": "enable the webhook first",
    r"reviewers\.\d+": "is not a member",
    r"field|line|parent": "is no (field|line|comment)|needs a field",
    r"resource|localTime|timeZone|runAt|until|then(\.versionId)?|expects|versionId|action|releaseId": (
        "is required|must not be given|is no time zone|does not exist|is no version|is not for a release|"
        "give either a resource|"
        "must be (in the future|a whole minute|after|before|a (local )?time)|more than five years|"
        "out of range"
    ),
    r"before": "cannot be combined with after",
    r"status|versionId|label|release": (
        "give only one of status, versionId, label and release|give either a resource"
    ),
    r"versions\.(self|agents\..*)|status|versionId|label|release": "selected more than once",
    r"items\.\d+\.(resource|versionId)": "in this workspace|already|no version|must be absent",
    r"id|newId|resource\.id|(?:instructions|blocks)\.\d+\.id|agents\..*": (
        "cannot be seen|normal form C|percent-encoded"
    ),
    # the id made of a name, such as Favorite
    r"id": "the name has no letter a-z or digit|the name is too long|reserved word",
    r"instructions": "must not be blank",
    r"instructions\.\d+\.id": "the prompt block .* (does not exist|is not published)",
    r"messages(\.\d+)?\.(role|content)": "in the last message|must not be blank",
    r"scorerIds\.\d+|baseline|datasetId|primaryScorer": "does not exist, or you may not read it|is required",
    r"targetType": "is required",
    r"rows\.\d+\..*": "",  # a file is any text
    r"owner": "is no service account",
    r"attempts?|maxConcurrency|evidenceDays|version|limits\.\w+": "must be a whole number",
    r"maxSteps|modelSettings\..*|keepPreviousHours|runs|errors|(usage\.)?\w+Tokens|milliseconds": (
        "must be a whole number|must be a number"
    ),
    r"bucketBy": "must be a path",
    r"config(\..*)?": "is required|is not a|must |is empty|unknown",  # depending on the type of the scorer
    r"expiresAt": "must lie in the future",
    r"username": "valid username|mixes letters|differs from the account|is already|is longer than",
    r"mail": "must be a mail address",
    r"runId|resource": "already says|took no part in this run|is required",
    r"versionId|arm": "may be null only for|was never an arm|needs a version",
    r"value": "must be a number",
    r"arms\.\d+\.(name|versionId|weight)|arm": (
        "must (not )?be|must begin|is reserved|occurs twice|is no(t an)? arm|is no version"
    ),
}

# A stream gives its database connection back before it begins; here that is the one of the test.
# No request for a change can succeed yet, however well it is made.
STREAMS = {"POST /agents/{}/stream", "GET /events/stream"}
ASKED = [route for route in ROUTES if route not in {*STREAMS, *NEVER_SUCCEEDING}]
SHARES = 8
"""In how many tests the honest requests are sent: a test costs more than a request."""

SUCCESS = {**dict.fromkeys(CREATING, 201), "POST /gates/run": 202}
"""The statuses of success that are not 200."""

Operations = dict[str, APIOperation]


@pytest.fixture(scope="module")
def described() -> Operations:
    """The operations of the document by route."""
    document = Api("").request("GET", "/schema", accept="application/json").body
    schema = schemathesis.openapi.from_dict(document, config=CONFIG)
    schema.app = application
    found = (result.ok() for result in schema.get_all_operations())
    return {route_of(operation.method, operation.path): operation for operation in found}


@pytest.fixture(scope="module")
def versions(
    stored_once: Callable[[], AbstractContextManager[None]], shared_keys: dict[str, str]
) -> dict[Kind, list[str]]:
    """The versions of `writer`, along with one object of every other type."""
    with stored_once():
        return make_one_of_everything(shared_keys)


@pytest.fixture(autouse=True)
def internal_receivers(settings: Any) -> None:
    """Let webhooks be sent to this machine: the names of other hosts cannot be resolved here."""
    settings.EDITOR_WEBHOOK_ALLOW = ["127.0.0.1"]


@pytest.fixture
def cast(shared_cast: Cast) -> Cast:
    """The cast, which is the same in every test of this module."""
    return shared_cast


def ask(case: Case, api: Api) -> Response:
    """Send a request, and undo what it did."""
    with one_connection(), transaction.atomic():
        response = case.call(headers={"Authorization": f"Bearer {api.key}"})
        transaction.set_rollback(True)
    return response


def check(case: Case, response: Response, *more: CheckFunction) -> None:
    case.validate_response(response, checks=[*CHECKS, *more])


def is_refused_beyond_the_schema(response: Response) -> bool:
    """Return whether a request was refused only for reasons that the document cannot express."""
    issues = response.json().get("issues", []) if response.status_code == 400 else []
    return bool(issues) and all(
        any(
            re.fullmatch(field, issue["field"]) and re.search(reasons, issue["message"])
            for field, reasons in NOT_TO_BE_SAID.items()
        )
        for issue in issues
    )


@pytest.mark.parametrize("share", range(SHARES))
def test_an_honest_request_is_answered_as_described_whether_its_caller_may_or_not(
    described: Operations, cast: Cast, versions: dict[Kind, list[str]], share: int
) -> None:
    for route in ASKED[share::SHARES]:
        allowed = cast.root if route in FOR_SUPERUSERS else cast.alice
        statuses = []
        request = {"path_parameters": existing(route, versions), **honest(route, versions)}
        for api in (allowed, cast.nobody, cast.vera):
            case = described[route].Case(**deepcopy(request))
            response = ask(case, api)
            check(case, response)
            statuses.append(response.status_code)
            # Answers with an ETag and without a secret can be revalidated; proxies store none.
            is_kept = "etag" in response.headers and not SHOWN_ONCE.search(response.content)
            kept = "private, no-cache" if is_kept else "private, no-store"
            assert response.headers["cache-control"] == [kept], route
        assert statuses[:2] == [SUCCESS.get(route, 200), 401], route
        if not route.startswith("GET"):  # and from a stale base
            case = described[route].Case(**request, headers={"If-Match": '"stale"'})
            check(case, ask(case, cast.alice))


@pytest.mark.postgresql  # the tests above ask the same, and more
def test_every_route_does_on_this_database_what_it_does_on_sqlite(
    described: Operations, cast: Cast, versions: dict[Kind, list[str]]
) -> None:
    wrong = {}
    for route in ASKED:
        allowed = cast.root if route in FOR_SUPERUSERS else cast.alice
        case = described[route].Case(path_parameters=existing(route, versions), **honest(route, versions))
        answer = ask(case, allowed)
        if answer.status_code != SUCCESS.get(route, 200):
            wrong[route] = (answer.status_code, answer.content)
    assert wrong == {}


# The kinds share the code of the routes below an id; answers to honest requests have their own shapes.
@pytest.mark.parametrize(
    "route",
    [route for route in ASKED if not re.search(r"(prompt-blocks|scorers)/{}/(?!try|agreement)", route)],
)
def test_generated_requests_are_answered_as_described(
    described: Operations, alice: Api, versions: dict[Kind, list[str]], route: str
) -> None:
    operation, path = described[route], existing(route, versions)
    strategies = [
        operation.as_strategy(generation_mode=mode, **named)
        for mode in GenerationMode
        for named in ({"path_parameters": path}, {})
    ]

    @GENERATION
    @given(case=st.one_of(strategies))
    def ask_all(case: Case) -> None:
        response = ask(case, alice)
        more = [] if is_refused_beyond_the_schema(response) else [positive_data_acceptance]
        check(case, response, negative_data_rejection, *more)

    ask_all()
