"""Second factors of sign-ins by password: codes, security keys, recovery, and requiring one."""

from __future__ import annotations

import copy
import hashlib
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from io import StringIO
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connections
from django.urls import reverse
from fido2.cose import ES256
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import (
    Aaguid,
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)
from pytest_django import Settings

from capabilities.accounts.models import Kind, SecondFactor, use_recovery_code
from capabilities.accounts.sign_in.factors import totp
from tests.accounts.test_sessions import PASSWORD, alice  # noqa: F401  a fixture
from tests.accounts.test_single_sign_on import is_in, latest_event
from tests.support.identity_provider import IdentityProvider
from tests.support.studio import Visitor
from versioning.conf import get_editor
from versioning.domain.access import Role
from versioning.models import Membership

PAGE, STEP, REQUIRED = (
    "/studio/account/second-factor/",
    "/studio/login/second/",
    "/studio/login/second-factor/",
)
ACCEPT = "/studio/versioning/workspace/welcome/"
pytestmark = pytest.mark.usefixtures("alice")


def with_password(client: Visitor | None = None, **more: str) -> tuple[Visitor, Any]:
    """Send alice's password; return the browser and the answer."""
    client = client or Visitor()
    return client, client.post("/studio/login/", {"username": "alice", "password": PASSWORD} | more)


@pytest.fixture(autouse=True)
def _no_code_expires_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(totp, "time", SimpleNamespace(time=lambda: now))


def code_now(secret: str, step: int = 0) -> str:
    return totp.code_at(secret, int(totp.time.time()) // totp.STEP + step)


def set_up() -> tuple[str, list[str]]:
    """Set up an app for alice in the studio; return its secret and the recovery codes."""
    client, _ = with_password()
    secret = client.get(PAGE).context["secret"]
    client.post(PAGE, {"code": code_now(secret, -1)})
    return secret, client.get(PAGE).context["codes"]


def test_after_the_password_a_code_is_asked_for_and_taken_once() -> None:
    secret, _ = set_up()
    client, answer = with_password(next="/studio/versioning/agent/")
    assert answer.location == STEP and not is_in(client)
    assert client.get("/api/agents").status == 401
    code = code_now(secret)
    assert client.post(STEP, {"code": code}).location == "/studio/versioning/agent/"
    assert is_in(client) and latest_event().detail["method"] == "password+totp"
    other, _ = with_password()
    assert other.post(STEP, {"code": code}).status == 400 and not is_in(other)
    assert latest_event().detail["reason"] == "second_factor"


def test_without_a_password_there_is_no_second_step() -> None:
    secret, _ = set_up()
    client = Visitor()
    assert client.post(STEP, {"code": code_now(secret)}).location == "/studio/login/"
    client, _ = with_password()
    User.objects.get(username="alice").set_password("x")
    user = User.objects.get(username="alice")
    user.set_password("another long password")
    user.save()
    assert client.post(STEP, {"code": code_now(secret)}).location == "/studio/login/"
    assert not is_in(client)


def test_a_person_who_was_switched_off_in_between_stays_outside() -> None:
    secret, _ = set_up()
    client, _ = with_password()
    User.objects.filter(username="alice").update(is_active=False)
    assert client.post(STEP, {"code": code_now(secret)}).location == "/studio/login/"


def test_wrong_codes_are_limited() -> None:
    secret, _ = set_up()
    client, _ = with_password()
    answers = [client.post(STEP, {"code": "000000"}) for _ in range(6)]
    assert answers[-1].status == 429 and answers[-1].headers["Retry-After"]
    assert client.post(STEP, {"code": code_now(secret)}).status == 429


def test_each_recovery_code_works_once() -> None:
    _, codes = set_up()
    assert len(codes) == 10
    client, _ = with_password()
    assert client.post(STEP, {"code": f" {codes[0].upper()} "}).status == 302 and is_in(client)
    assert "9 recovery codes are left" in client.get(PAGE).words
    again, _ = with_password()
    assert again.post(STEP, {"code": codes[0]}).status == 400
    client.post(PAGE, {"codes": "new"})
    assert again.post(STEP, {"code": codes[1]}).status == 400
    stored = SecondFactor.objects.get(kind=Kind.RECOVERY)
    assert codes[2].replace("-", "") not in json.dumps(stored.data)


def test_codes_are_shown_once_and_secrets_are_stored_encrypted() -> None:
    client, _ = with_password()
    secret = client.get(PAGE).context["secret"]
    assert client.post(PAGE, {"code": "123"}).status == 400
    client.post(PAGE, {"code": code_now(secret)})
    assert client.get(PAGE).context["codes"] and not client.get(PAGE).context["codes"]
    assert secret not in SecondFactor.objects.get(kind=Kind.TOTP).sealed
    assert (latest_event().type, latest_event().detail["kind"]) == ("secondFactor.added", "totp")


def test_the_last_factor_takes_the_recovery_codes_along() -> None:
    secret, _ = set_up()
    client, _ = with_password()
    client.post(STEP, {"code": code_now(secret)})
    assert client.post(PAGE, {"remove": "9" * 5_000}).status == 404
    client.post(PAGE, {"remove": SecondFactor.objects.get(kind=Kind.TOTP).pk})
    assert not SecondFactor.objects.exists() and latest_event().type == "secondFactor.removed"
    assert with_password()[1].location == "/studio/"


def test_where_one_is_required_it_is_set_up_before_anything_else(settings: Settings) -> None:
    settings.EDITOR_REQUIRE_MFA = True
    client, answer = with_password(next="/studio/versioning/agent/")
    assert answer.location == REQUIRED and not is_in(client)
    secret = client.get(REQUIRED).context["secret"]
    assert client.post(REQUIRED, {"code": "1"}).status == 400
    assert client.post(REQUIRED, {"code": code_now(secret, -1)}).location == PAGE
    assert is_in(client) and len(client.get(PAGE).context["codes"]) == 10
    later, answer = with_password()
    assert answer.location == STEP
    assert later.get(REQUIRED).location == STEP  # the second factor is not replaced without the first
    assert later.post(REQUIRED, {"code": code_now(secret)}).location == STEP and not is_in(later)


def test_the_secret_of_an_app_is_not_that_of_the_last_person_in_the_browser(settings: Settings) -> None:
    settings.EDITOR_REQUIRE_MFA = True
    vera = User.objects.get(username="vera")
    vera.set_password(PASSWORD)
    vera.save()
    client, _ = with_password()
    of_alice = client.get(REQUIRED).context["secret"]
    with_password(client, username="vera")
    assert client.get(REQUIRED).context["secret"] != of_alice


def test_a_deleted_person_takes_everything_along() -> None:
    set_up()
    user = User.objects.get(username="vera")
    SecondFactor(user=user, kind=Kind.TOTP).store({"secret": "x", "step": 0})
    user.delete()
    assert not SecondFactor.objects.filter(kind=Kind.TOTP).exclude(user__username="alice").exists()


def test_an_invitation_that_was_opened_is_still_open_after_the_second_step() -> None:
    secret, _ = set_up()
    Membership.objects.all().filter(user__username="alice").delete()
    _, token = get_editor().invitation.invite("acme", "alice", Role.EDITOR)
    client = Visitor()
    client.get(reverse("studio:versioning_workspace_invited", args=[token]))
    _, answer = with_password(client, next=ACCEPT)
    assert client.post(answer.location, {"code": code_now(secret)}).location == ACCEPT
    number = client.get(ACCEPT).context["invitation"].pk
    assert client.post(ACCEPT, {"invitation": number}).location == "/studio/"
    assert Membership.objects.filter(user__username="alice", workspace="acme").exists()


def test_another_person_who_was_signed_in_is_signed_out_before_the_second_step() -> None:
    set_up()
    client = Visitor()
    client.client.force_login(User.objects.get(username="vera"))
    with_password(client)
    assert not is_in(client)


def test_factors_follow_a_change_of_the_secret_key(settings: Settings) -> None:
    secret, _ = set_up()
    old, settings.SECRET_KEY = settings.SECRET_KEY, "another secret key"
    client, _ = with_password()
    refused = client.post(STEP, {"code": code_now(secret)})
    assert refused.status == 503 and "Put the previous SECRET_KEY" in refused.words
    settings.SECRET_KEY_FALLBACKS = [old]
    call_command("rotate_keys", stdout=StringIO())
    settings.SECRET_KEY_FALLBACKS = []
    client, _ = with_password()
    assert client.post(STEP, {"code": code_now(secret)}).status == 302 and is_in(client)


def test_who_has_lost_everything_is_helped_by_a_command() -> None:
    set_up()
    call_command("remove_second_factor", "alice", stdout=StringIO())
    event = latest_event()
    assert (event.type, event.detail["username"]) == ("secondFactor.removed", "alice")
    assert with_password()[1].location == "/studio/" and not SecondFactor.objects.exists()
    with pytest.raises(CommandError, match="alice has no second factor"):
        call_command("remove_second_factor", "alice")


def test_the_door_for_superusers_asks_for_the_second_factor_too(settings: Settings) -> None:
    set_up()
    User.objects.filter(username="alice").update(is_superuser=True)
    settings.EDITOR_OIDC = json.dumps([IdentityProvider(url="https://id.example").settings()])
    settings.EDITOR_SIGN_IN = "sso"
    client = Visitor()
    answer = client.post("/studio/login/local/", {"username": "alice", "password": PASSWORD})
    assert answer.location == STEP and not is_in(client)


def test_whoever_accepts_an_invitation_sets_up_a_required_one_first(settings: Settings) -> None:
    settings.EDITOR_REQUIRE_MFA = True
    _, token = get_editor().invitation.invite("acme", "lena", Role.VIEWER)
    client = Visitor()
    client.get(reverse("studio:versioning_workspace_invited", args=[token]))
    number = client.get(ACCEPT).context["invitation"].pk
    chosen = {"invitation": number, "new_password1": PASSWORD, "new_password2": PASSWORD}
    assert client.post(ACCEPT, chosen).location == REQUIRED and not is_in(client)


@pytest.mark.postgresql
@pytest.mark.usefixtures("committed_db")
@pytest.mark.parametrize("kind", ["totp", "recovery"])
def test_of_many_who_send_a_code_at_once_one_gets_in(kind: str) -> None:
    secret, codes = set_up()
    user = User.objects.get(username="alice")
    together = Barrier(6)

    def attempt(_number: int) -> bool:
        together.wait()
        right = totp.use(user, code_now(secret)) if kind == "totp" else use_recovery_code(user, codes[0])
        connections.close_all()
        return right

    with ThreadPoolExecutor(6) as people:
        assert sum(people.map(attempt, range(6))) == 1


@dataclass
class SecurityKey:
    """An authenticator that makes credentials of the algorithm ES256."""

    origin: str = "http://testserver"
    private: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )
    id: bytes = b"credential-1"
    count: int = 0
    """How often it has signed; a key that does not count always says 0."""

    def data(self, rp_id: str, *, is_new: bool) -> AuthenticatorData:
        flags = AuthenticatorData.FLAG.UP | (AuthenticatorData.FLAG.AT if is_new else 0)
        public = ES256.from_cryptography_key(self.private.public_key())
        made = AttestedCredentialData.create(Aaguid.NONE, self.id, public) if is_new else b""
        return AuthenticatorData.create(hashlib.sha256(rp_id.encode()).digest(), flags, self.count, made)

    def create(self, options: dict[str, Any]) -> str:
        """Answer options for a new credential, as a browser does."""
        client = self._client("webauthn.create", options)
        attestation = AttestationObject.create("none", self.data(options["rp"]["id"], is_new=True), {})
        return self._answer(clientDataJSON=client, attestationObject=bytes(attestation))

    def get(self, options: dict[str, Any]) -> str:
        """Answer options for a sign-in."""
        client = self._client("webauthn.get", options)
        data = bytes(self.data(options["rpId"], is_new=False))
        signature = self.private.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(SHA256()))
        return self._answer(clientDataJSON=client, authenticatorData=data, signature=signature)

    def _client(self, kind: str, options: dict[str, Any]) -> bytes:
        challenge = websafe_decode(options["challenge"])
        return bytes(CollectedClientData.create(type=kind, challenge=challenge, origin=self.origin))

    def _answer(self, **response: bytes) -> str:
        encoded = {name: websafe_encode(value) for name, value in response.items()}
        own = websafe_encode(self.id)
        return json.dumps({"id": own, "rawId": own, "type": "public-key", "response": encoded})


def with_security_key() -> SecurityKey:
    """Add a security key for alice."""
    key, (client, _) = SecurityKey(), with_password()
    options = client.get(PAGE).context["options"]
    assert client.post(PAGE, {"credential": key.create(options), "name": "Blue"}).status == 302
    assert "Blue" in client.get(PAGE).words
    return key


def test_what_is_no_new_credential_is_refused() -> None:
    client, _ = with_password()

    def created() -> Any:
        return json.loads(SecurityKey().create(client.get(PAGE).context["options"]))

    replayed = created()
    client.get(PAGE)  # another challenge
    refused = [client.post(PAGE, {"credential": json.dumps(replayed), "name": "Blue"})]
    cut_off = created()
    cut_off["response"]["attestationObject"] = cut_off["response"]["attestationObject"][:40]
    for broken in (json.dumps(cut_off), "{}", "[]", "x", '{"id": 1}'):
        refused.append(client.post(PAGE, {"credential": broken, "name": "Blue"}))
        client.get(PAGE)
    assert {answer.status for answer in refused} == {400}
    assert not SecondFactor.objects.exists()


def test_a_security_key_is_added_and_used_and_a_copy_of_it_is_refused() -> None:
    key = with_security_key()
    # Keys that do not count say 0; of one that counts, the next use has a higher number.
    for count, status in [(0, 302), (0, 302), (3, 302), (4, 302), (4, 400), (2, 400), (0, 400)]:
        client, _ = with_password()
        options, key.count = client.get(STEP).context["options"], count
        assert client.post(STEP, {"credential": key.get(options)}).status == status, count
        assert is_in(client) == (status == 302)
        if status == 302:
            assert latest_event().detail["method"] == "password+webauthn"


def test_a_security_key_that_is_not_the_one_is_refused() -> None:
    key = with_security_key()
    elsewhere = copy.copy(key)
    elsewhere.origin = "http://evil.example"
    answers: list[Callable[[Any], str]] = [SecurityKey().get, elsewhere.get, lambda options: '{"id": 1}']
    client, _ = with_password()
    old = key.get(client.get(STEP).context["options"])
    for answer in [*answers, lambda options: old]:
        options = client.get(STEP).context["options"]
        assert client.post(STEP, {"credential": answer(options)}).status == 400
        assert not is_in(client)
    right = key.get(client.get(STEP).context["options"])
    assert client.post(STEP, {"credential": right}).status == 302
