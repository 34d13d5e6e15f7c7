"""A person's preferences for the studio: language, density, and that the introduction was read."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.conftest import Cast
from tests.support.people import give_role
from tests.support.window import Window

LIST = "/studio/versioning/agent/"


def density(window: Window, address: str = LIST) -> str:
    """Return the class of the page, which determines its first rendering."""
    return window.get(address).markup.partition('<html lang="en" class="')[2].partition('"')[0]


def test_a_person_chooses_the_density_of_every_page_for_themselves(cast: Cast) -> None:
    edgar, vera = Window.of("edgar"), Window.of("vera")
    assert density(edgar) == "comfortable"
    assert edgar.post("/studio/density/", density="compact").status == 302
    assert [density(edgar, address) for address in (LIST, "/studio/", "/studio/nothing/")] == ["compact"] * 3
    assert density(vera) == "comfortable"
    for unknown in ('"><script>', "", "comfortable"):
        edgar.post("/studio/density/", density="compact")
        edgar.post("/studio/density/", density=unknown)
        assert density(edgar) == "comfortable"


def test_choosing_a_density_redirects_to_the_page_of_the_studio_only(cast: Cast) -> None:
    for came_from, led_to in [
        (f"http://testserver{LIST}?q=refund", f"{LIST}?q=refund"),
        ("https://elsewhere.example/studio/", "/studio/"),
        ("http://testserver/api/docs", "/studio/"),
        ("http://[", "/studio/"),
        ("", "/studio/"),
    ]:
        client = Client()
        client.force_login(User.objects.get(username="edgar"))
        answer = client.post("/studio/density/", {"density": "compact"}, headers={"Referer": came_from})
        assert (answer.status_code, answer.headers["Location"]) == (302, led_to)


def test_the_introduction_is_shown_until_the_person_has_dismissed_it(cast: Cast) -> None:
    edgar = Window.of("edgar")
    edgar.post("/studio/density/", density="compact")
    assert "How it works here" in edgar.get("/studio/").text
    assert "How it works here" not in edgar.get(LIST).text
    assert edgar.post("/studio/tour/").status == 302
    assert "How it works here" not in edgar.get("/studio/").text
    assert "How it works here" in Window.of("paula").get("/studio/").text
    assert density(edgar) == "compact"


@pytest.mark.parametrize(
    ("name", "role", "may", "may_not"),
    [
        ("vera", "Your role: viewer in acme", "Read what is live.", "Save as often as you like."),
        (
            "edgar",
            "Your role: editor in acme",
            "Somebody who may publish makes it live.",
            "Publish when it is good.",
        ),
        ("paula", "Your role: publisher in acme", "Publish when it is good.", "Let others in."),
        ("alice", "Your role: admin in acme", "Let others in.", "Read what is live."),
    ],
)
def test_the_introduction_says_what_a_person_may_do(
    cast: Cast, name: str, role: str, may: str, may_not: str
) -> None:
    shown = Window.of(name).get("/studio/").text
    assert role in shown
    assert may in shown
    assert may_not not in shown


def test_the_introduction_of_a_person_with_several_roles_is_about_the_highest(cast: Cast) -> None:
    give_role("edgar", "elsewhere", "viewer")
    shown = Window.of("edgar").get("/studio/").text
    assert "Your role: editor in acme , viewer in elsewhere . This is what you may do as editor:" in shown
    assert "Your role" not in Window.of("root").get("/studio/").text  # who may do everything everywhere


def test_get_requests_change_no_preferences(cast: Cast) -> None:
    for address in ["/studio/density/", "/studio/tour/"]:
        edgar = Window.of("edgar")
        assert edgar.get(address).status == 405
        assert (density(edgar), "How it works here" in edgar.get("/studio/").text) == ("comfortable", True)


GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}


@pytest.fixture
def edgar(cast: Cast) -> Client:
    client = Client()
    client.force_login(User.objects.get(username="edgar"))
    return client


def language(client: Client, headers: dict[str, str] = GERMAN) -> str:
    return client.get("/studio/", headers=headers).headers["Content-Language"]


def test_the_browser_determines_the_language_until_the_person_chooses(edgar: Client) -> None:
    assert language(edgar) == "de"
    assert language(edgar, {"Accept-Language": "fr"}) == "en"
    for chosen in ("en", "de"):
        edgar.post("/studio/language/", {"language": chosen})
        assert language(edgar) == language(edgar, {}) == chosen
    for chosen in ("", "xx", "../../etc"):
        edgar.post("/studio/language/", {"language": chosen})
        assert (language(edgar), language(edgar, {})) == ("de", "en")


def test_the_api_answers_in_english(cast: Cast) -> None:
    for path in ("/agents", "/stored/agents?perPage=many"):
        plain = cast.alice.client.get(f"/api{path}", headers={"Authorization": f"Bearer {cast.alice.key}"})
        german = cast.alice.client.get(
            f"/api{path}", headers={"Authorization": f"Bearer {cast.alice.key}", **GERMAN}
        )
        assert plain.json() == german.json()
    assert plain.status_code == 400


def test_translations_of_scripts_are_served_without_a_sign_in(db: None) -> None:
    for chosen, status in [("de", 200), ("en", 200), ("fr", 404)]:
        answer = Client().get(f"/studio/translations/{chosen}.js")
        assert answer.status_code == status
        if status == 200:
            assert "gettext" in answer.content.decode() and "immutable" in answer.headers["Cache-Control"]
