"""Wrong passwords: after too many of them sign-ins are refused for a while, which is logged."""

from __future__ import annotations

import datetime
import logging
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from tests.conftest import Cast
from tests.support.calls import undone
from tests.support.studio import Visitor
from versioning.models import SignInAttempts
from versioning.models.throttle import (
    FORGOTTEN_AFTER,
    LONGEST_WAIT,
    TooManyAttempts,
    seconds_to_wait,
    subject,
)

SIGN_IN = "/studio/login/"
PASSWORD = "a long enough password"
FREE, FREE_OF_AN_ADDRESS = 5, 30

pytestmark = pytest.mark.usefixtures("edgar")


@pytest.fixture
def edgar(cast: Cast) -> None:
    for user in User.objects.filter(username__in=("edgar", "vera")):
        user.set_password(PASSWORD)
        user.save()


def attempt(
    name: str = "edgar", password: str = "wrong", *, client: Visitor | None = None, **more: str
) -> Any:
    return (client or Visitor()).post(SIGN_IN, {"username": name, "password": password}, **more)


def is_in(answer: Any) -> bool:
    return bool(answer.status == 302)


def use_up(name: str = "edgar", **more: Any) -> None:
    """Try as many wrong passwords as are allowed before the first wait."""
    for _ in range(FREE):
        assert attempt(name, **more).status == 200


def pass_time(seconds: float) -> None:
    """Move all counted attempts further into the past."""
    step = datetime.timedelta(seconds=seconds)
    for row in SignInAttempts.objects.all():
        row.last_at -= step
        row.blocked_until = row.blocked_until and row.blocked_until - step
        row.save()


def test_after_many_wrong_passwords_the_right_one_is_refused_with_the_remaining_time() -> None:
    use_up()
    answer = attempt(password=PASSWORD)
    assert answer.status == 429 and 0 < int(answer.headers["Retry-After"]) <= 5
    assert re.search(r"too many wrong attempts\. Wait \d seconds?, then try again", answer.words)
    pass_time(5)
    assert is_in(attempt(password=PASSWORD))


def test_the_wait_doubles_up_to_a_bound() -> None:
    waits = [seconds_to_wait(subject("account", "edgar"), failures) for failures in range(14)]
    assert waits == [0, 0, 0, 0, 0, 5, 10, 20, 40, 80, 160, 300, 300, 300]
    assert seconds_to_wait(subject("account", "edgar"), 10**9) == LONGEST_WAIT


def test_attempts_during_a_wait_do_not_make_it_longer() -> None:
    use_up()
    blocked_until = SignInAttempts.objects.get(subject=subject("account", "edgar")).blocked_until
    assert {attempt().status for _ in range(3 * FREE)} == {429}
    row = SignInAttempts.objects.get(subject=subject("account", "edgar"))
    assert (row.failures, row.blocked_until) == (FREE, blocked_until)


def test_the_right_password_resets_the_count_of_the_account() -> None:
    for _ in range(3):
        for _ in range(FREE - 1):
            attempt()
        assert is_in(attempt(password=PASSWORD))
    assert not SignInAttempts.objects.filter(subject=subject("account", "edgar")).exists()


def test_an_hour_without_a_wrong_password_resets_the_count_and_deletes_the_rows() -> None:
    use_up("nobody-of-this-name")
    assert attempt("nobody-of-this-name").status == 429
    pass_time(FORGOTTEN_AFTER.total_seconds() + 1)
    assert attempt("vera", REMOTE_ADDR="10.0.0.9").status == 200
    assert set(SignInAttempts.objects.values_list("subject", flat=True)) == {
        subject("account", "vera"),
        subject("address", "10.0.0.9"),
    }


def test_an_unknown_account_answers_like_any_other() -> None:
    for name in ["edgar", "no-such-account", "alice", "switched-off", "x" * 500, "a\x01b"]:
        with undone():
            User.objects.create_user("switched-off", password="wrong", is_active=False)
            answers = [attempt(name) for _ in range(FREE + 1)]
            assert [answer.status for answer in answers] == [200] * FREE + [429]
            shown = answers[0].words.replace(name, "…")
            assert "The user name or the password is wrong." in shown


def test_attempts_from_one_address_are_limited_across_accounts() -> None:
    for number in range(FREE_OF_AN_ADDRESS):
        assert attempt(f"person-{number}", REMOTE_ADDR="10.0.0.9").status == 200
    assert attempt("person-31", REMOTE_ADDR="10.0.0.9").status == 429
    assert attempt("edgar", PASSWORD, REMOTE_ADDR="10.0.0.9").status == 429
    assert is_in(attempt("edgar", PASSWORD, REMOTE_ADDR="10.0.0.8"))


def test_the_right_password_does_not_reset_the_failures_of_its_address() -> None:
    address = subject("address", "10.0.0.9")
    for number in range(3):
        attempt(f"person-{number}", REMOTE_ADDR="10.0.0.9")
    for _ in range(4):
        assert is_in(attempt("vera", PASSWORD, REMOTE_ADDR="10.0.0.9"))
    assert SignInAttempts.objects.get(subject=address).failures == 3


def test_wrong_passwords_do_not_lock_the_owner_out_of_a_known_browser() -> None:
    mine = Visitor()
    assert is_in(attempt(password=PASSWORD, client=mine))
    mine.post("/studio/logout/")
    for _ in range(FREE_OF_AN_ADDRESS):
        attempt()
        pass_time(60)
    assert attempt(password=PASSWORD).status == 429
    assert is_in(attempt(password=PASSWORD, client=mine))


def test_attempts_from_a_known_browser_are_limited_too() -> None:
    mine = Visitor()
    attempt(password=PASSWORD, client=mine)
    use_up(client=mine)
    assert attempt(password=PASSWORD, client=mine).status == 429
    # A browser is known to one account only, and an unsigned cookie is not accepted.
    assert is_in(attempt("vera", PASSWORD, client=mine))
    for value in ("", "x", "W10:1a:b", mine.client.cookies["editor_browser"].value + "x"):
        forged = Visitor()
        forged.client.cookies["editor_browser"] = value
        assert is_in(attempt("vera", PASSWORD, client=forged))


# The IP address of a visitor


def test_a_forwarded_address_is_used_only_with_a_configured_proxy(settings: Settings) -> None:
    for header, https, sent, counted in [
        ("", False, {}, "127.0.0.1"),
        ("", False, {"HTTP_X_FORWARDED_FOR": "10.9.9.9", "HTTP_X_REAL_IP": "10.9.9.9"}, "127.0.0.1"),
        ("", True, {"HTTP_X_FORWARDED_FOR": "10.9.9.9"}, None),
        ("X-Real-IP", True, {"HTTP_X_REAL_IP": "10.9.9.9"}, "10.9.9.9"),
        ("X-Forwarded-For", True, {"HTTP_X_FORWARDED_FOR": "1.1.1.1, 10.9.9.9"}, "10.9.9.9"),
        ("X-Forwarded-For", True, {"HTTP_X_FORWARDED_FOR": "unknown"}, None),
        ("X-Forwarded-For", True, {}, None),
        ("X-Real-IP", False, {"HTTP_X_REAL_IP": "2001:db8:1:2:3:4:5:6"}, "2001:db8:1:2::/64"),
        ("X-Real-IP", False, {"HTTP_X_REAL_IP": "::ffff:10.9.9.9"}, "10.9.9.9"),
        ("X-Real-IP", False, {"HTTP_X_REAL_IP": "fe80::1%eth0"}, "fe80::/64"),
    ]:
        with undone():
            settings.EDITOR_CLIENT_ADDRESS_HEADER, settings.EDITOR_HTTPS = header, https
            attempt(**sent)
            found = set(SignInAttempts.objects.values_list("subject", flat=True))
            own = {subject("account", "edgar")}
            assert found == (own if counted is None else own | {subject("address", counted)})


# Logs and stored rows


def test_every_refusal_is_logged_without_passwords(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        use_up()
        attempt()
        attempt("my password by mistake")
    told = [
        (record.getMessage(), record.account, record.address, record.wait_seconds)  # type: ignore[attr-defined]
        for record in caplog.records
        if record.name == "studio.signing_in"
    ]
    assert told[0] == ("a wrong password", "edgar", "127.0.0.1", 0)
    assert told[4] == ("a wrong password", "edgar", "127.0.0.1", 5)
    assert told[5][0].startswith("a password was not checked") and told[5][3] > 0
    assert told[6][1] == "unknown"
    assert "mistake" not in str([vars(record) for record in caplog.records])


def test_neither_names_nor_addresses_are_stored() -> None:
    attempt()
    assert all(
        re.fullmatch(r"(account|address):[0-9a-f]{5}", row.subject) for row in SignInAttempts.objects.all()
    )


def test_concurrent_attempts_are_counted_before_any_password_is_checked() -> None:
    own = [subject("account", "edgar")]
    attempts = [SignInAttempts.objects.begin(own) for _ in range(FREE)]
    with pytest.raises(TooManyAttempts):
        SignInAttempts.objects.begin(own)
    attempts[0].mark_succeeded()
    assert SignInAttempts.objects.get().failures == FREE - 1


def test_attempts_on_the_password_change_page_are_limited_too() -> None:
    client = Visitor()
    client.client.force_login(User.objects.get(username="edgar"))
    typed = {
        "old_password": "wrong",
        "new_password1": "another long one",
        "new_password2": "another long one",
    }
    address = "/studio/password_change/"
    assert [client.post(address, typed).status for _ in range(FREE + 1)] == [200] * FREE + [429]
    right = typed | {"old_password": PASSWORD}
    answer = client.post(address, right)
    assert answer.status == 429 and "too many wrong attempts" in answer.words
    assert is_in(attempt(password=PASSWORD)), "signing in is counted for itself"
    pass_time(5)
    assert client.post(address, right).status == 302
    assert is_in(attempt(password="another long one"))
