"""Security keys and passkeys, by WebAuthn. python-fido2 makes the challenges and checks the answers."""

from __future__ import annotations

import base64
import json
import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from capabilities.accounts.models import Kind, SecondFactor
from versioning.domain.texts import clip

if TYPE_CHECKING:
    from fido2.server import Fido2Server
    from fido2.webauthn import AttestedCredentialData

logger = logging.getLogger(__name__)

_STATE: Final = "company.webauthn"
"""The session key for the pending challenge."""


def is_available() -> bool:
    """Return whether `editor-server[sso]` is installed."""
    return find_spec("fido2") is not None


def options_to_add(request: HttpRequest, user: Any) -> dict[str, Any]:
    from fido2.webauthn import (  # noqa: PLC0415  an optional part
        PublicKeyCredentialUserEntity,
        UserVerificationRequirement,
    )

    name = user.get_username()
    entity = PublicKeyCredentialUserEntity(id=str(user.pk).encode(), name=name, display_name=name)
    options, state = _server(request).register_begin(
        entity, _credentials(user), user_verification=UserVerificationRequirement.DISCOURAGED
    )
    request.session[_STATE] = state
    return json_of(options.public_key)


def add(request: HttpRequest, user: Any, name: str, answer: str) -> SecondFactor | None:
    """Store a credential that a browser has made; None if the answer is wrong."""
    state = request.session.pop(_STATE, None)
    if state is None or not is_available():
        return None
    try:
        registration = _server(request).register_complete(state, json.loads(answer))
    except Exception:  # noqa: BLE001  an answer with any fault is no credential
        return None
    if registration.credential_data is None:
        return None
    row = SecondFactor(user=user, kind=Kind.WEBAUTHN, name=clip(name.replace("\0", ""), 80))
    credential = base64.b64encode(bytes(registration.credential_data)).decode()
    row.store({"credential": credential, "counter": registration.counter})
    return row


def options_to_use(request: HttpRequest, user: Any) -> dict[str, Any] | None:
    """Return a browser's options for using a credential, and store the challenge; None without any."""
    credentials = _credentials(user) if is_available() else []
    if not credentials:
        return None
    from fido2.webauthn import UserVerificationRequirement  # noqa: PLC0415  an optional part

    options, state = _server(request).authenticate_begin(
        credentials, user_verification=UserVerificationRequirement.DISCOURAGED
    )
    request.session[_STATE] = state
    return json_of(options.public_key)


def use(request: HttpRequest, user: Any, answer: str) -> bool:
    """Return whether an answer to the challenge comes from a credential of the person.

    If a credential counts its signatures, the number has to grow; otherwise a copy of it exists.
    """
    state = request.session.pop(_STATE, None)
    if state is None or not is_available():
        return False
    from fido2.webauthn import AuthenticationResponse  # noqa: PLC0415  an optional part

    with transaction.atomic():
        rows = list(SecondFactor.of(user).filter(kind=Kind.WEBAUTHN).select_for_update())
        try:
            assertion = AuthenticationResponse.from_dict(json.loads(answer))
            used = _server(request).authenticate_complete(
                state, [_credential(row) for row in rows], assertion
            )
        except Exception:  # noqa: BLE001  an answer with any fault is no proof
            return False
        row = next(row for row in rows if _credential(row) == used)
        data, counter = row.data, assertion.response.authenticator_data.counter
        if (counter or data.get("counter")) and counter <= data.get("counter", 0):
            logger.warning("a security key of %s was refused: there may be a copy of it", user.pk)
            return False
        row.store({**data, "counter": counter}, last_used_at=timezone.now())
    return True


def for_page(options: dict[str, Any] | None) -> dict[str, Any]:
    """Return options for a page: the object, and the text that its script reads."""
    return {"options": options, "options_json": json.dumps(options)}


def json_of(options: Any) -> dict[str, Any]:
    """Return options as JSON, in the form that browsers parse."""
    decoded: dict[str, Any] = json.loads(json.dumps(dict(options)))
    return decoded


def _server(request: HttpRequest) -> Fido2Server:
    from fido2.server import Fido2Server  # noqa: PLC0415  an optional part
    from fido2.webauthn import PublicKeyCredentialRpEntity  # noqa: PLC0415  as above

    host = request.get_host()
    own_origin = f"{request.scheme}://{host}"
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    return Fido2Server(
        PublicKeyCredentialRpEntity(id=name, name="The editor"),
        verify_origin=lambda origin: origin == own_origin,
    )


def _credentials(user: Any) -> list[AttestedCredentialData]:
    return [_credential(row) for row in SecondFactor.of(user).filter(kind=Kind.WEBAUTHN)]


def _credential(row: SecondFactor) -> AttestedCredentialData:
    from fido2.webauthn import AttestedCredentialData  # noqa: PLC0415  an optional part

    return AttestedCredentialData(base64.b64decode(row.data["credential"]))
