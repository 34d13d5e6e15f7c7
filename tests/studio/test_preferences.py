"""A person's preferences for the studio: language, time zone, density, and that the introduction was read."""

from __future__ import annotations

import datetime
import re

import pytest
from django.contrib.auth.models import User
from django.db import models

from studio.models import Preferences
from tests.conftest import Cast
from tests.support.api import Kind
from tests.support.people import HOMES, give_role
from tests.support.studio import KINDS, Visitor, page_of, workspace_page
from versioning.domain.zones import offered_zones
from versioning.models import AgentVersion, Event, PromptBlockVersion

LIST = "/studio/versioning/agent/"
NAME_PAGE = "/studio/name/"
"""One of the smallest pages."""
NAMES = {role: name for name, (home, role) in HOMES.items() if home == "acme"}


def density(window: Visitor, address: str = NAME_PAGE) -> str:
    """Return the class of the page, which determines its first rendering."""
    return window.get(address).markup.partition('<html lang="en" class="')[2].partition('"')[0]


def test_a_person_chooses_the_density_of_every_page_for_themselves(cast: Cast) -> None:
    edgar = Visitor("edgar")
    assert density(edgar) == "comfortable"
    assert edgar.post("/studio/density/", density="compact").status == 302
    assert [density(edgar, address) for address in (LIST, "/studio/nothing/")] == ["compact"] * 2
    assert density(Visitor("vera")) == "comfortable"
    for unknown in ('"><script>', "", "comfortable"):
        edgar.post("/studio/density/", density="compact")
        edgar.post("/studio/density/", density=unknown)
        assert Preferences.objects.get(user__username="edgar").density == "comfortable"


def test_choosing_a_density_redirects_to_the_page_of_the_studio_only(cast: Cast) -> None:
    for came_from, led_to in [
        (f"http://testserver{LIST}?q=refund", f"{LIST}?q=refund"),
        ("https://elsewhere.example/studio/", "/studio/"),
        ("http://testserver/api/docs", "/studio/"),
        ("http://[", "/studio/"),
        ("", "/studio/"),
    ]:
        client = Visitor()
        client.client.force_login(User.objects.get(username="edgar"))
        answer = client.post("/studio/density/", {"density": "compact"}, headers={"Referer": came_from})
        assert (answer.status, answer.headers["Location"]) == (302, led_to)


def test_the_introduction_is_shown_until_the_person_has_dismissed_it(cast: Cast) -> None:
    edgar = Visitor("edgar")
    edgar.post("/studio/density/", density="compact")
    assert "How it works here" in edgar.get("/studio/").text
    assert "How it works here" not in edgar.get(LIST).text
    assert edgar.post("/studio/tour/").status == 302
    assert "How it works here" not in edgar.get("/studio/").text
    assert "How it works here" in Visitor("paula").get("/studio/").text
    assert density(edgar) == "compact"
    assert "Show the introduction again" in edgar.get("/studio/preferences/").text
    edgar.post("/studio/tour/", again="")
    assert "How it works here" in edgar.get("/studio/").text


def test_the_introduction_says_what_a_person_may_do(cast: Cast) -> None:
    for name, may, may_not in (
        ("viewer", "Read what is live.", "Save as often as you like."),
        ("editor", "Someone who may publish makes it live.", "Publish when it is good."),
        ("publisher", "Publish when it is good.", "Let others in."),
        ("admin", "Let others in.", "Read what is live."),
    ):
        shown = Visitor(NAMES[name]).get("/studio/").text
        assert (f"Your role: {name} in Acme" in shown, may in shown, may_not in shown) == (True, True, False)


def test_the_introduction_of_a_person_with_several_roles_is_about_the_highest(cast: Cast) -> None:
    give_role("edgar", "elsewhere", "viewer")
    shown = Visitor("edgar").get("/studio/").text
    assert "Your role: editor in Acme , viewer in Elsewhere . This is what you may do as editor:" in shown
    assert "Your role" not in Visitor("root").get("/studio/").text  # who may do everything everywhere


def test_get_requests_change_no_preferences(cast: Cast) -> None:
    edgar = Visitor("edgar")
    assert [edgar.get(f"/studio/{one}/").status for one in ("density", "tour")] == [405, 405]
    assert not Preferences.objects.exists()


GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}


@pytest.fixture
def edgar(cast: Cast) -> Visitor:
    client = Visitor()
    client.client.force_login(User.objects.get(username="edgar"))
    return client


def language(client: Visitor, headers: dict[str, str] = GERMAN) -> str:
    return client.get("/studio/tour/", headers=headers).headers["Content-Language"]


def test_the_browser_determines_the_language_until_the_person_chooses(edgar: Visitor) -> None:
    assert language(edgar) == "de"
    assert language(edgar, {"Accept-Language": "fr"}) == "en"
    for chosen in ("en", "de"):
        edgar.post("/studio/preferences/", {"language": chosen})
        assert language(edgar) == language(edgar, {}) == chosen
    for chosen in ("", "xx", "../../etc"):
        edgar.post("/studio/language/", {"language": chosen})
        assert (language(edgar), language(edgar, {})) == ("de", "en")


def zone_of(window: Visitor) -> str:
    """Return the zone of a page, which its scripts use."""
    found = re.search(r'data-zone="([^"]+)"', window.get(f"{LIST}add/").markup)
    assert found is not None
    return found[1]


def test_the_browser_determines_the_time_zone_until_the_person_chooses(cast: Cast) -> None:
    edgar, elsewhere = Visitor("edgar", zone="Asia/Tokyo"), Visitor("edgar")
    assert (zone_of(edgar), zone_of(elsewhere), zone_of(Visitor("paula"))) == ("Asia/Tokyo", "UTC", "UTC")
    assert "That of the browser: Asia/Tokyo" in edgar.get("/studio/preferences/").text
    assert edgar.post("/studio/preferences/", language="", time_zone="Europe/Berlin").status == 302
    chosen = edgar.get("/studio/preferences/")
    assert "Its times are those of Europe/Berlin." in chosen.text
    assert '<option value="Europe/Berlin" selected>' in chosen.markup
    assert (zone_of(edgar), zone_of(elsewhere)) == ("Europe/Berlin", "Europe/Berlin")
    edgar.post("/studio/language/", language="en")  # a form of an earlier release
    assert zone_of(edgar) == "Europe/Berlin"
    for unknown in ("", "Mars/Base", "../../etc/passwd"):
        edgar.post("/studio/preferences/", time_zone="Europe/Berlin")
        assert edgar.post("/studio/preferences/", language="", time_zone=unknown).status == 302
        assert not Preferences.objects.get(user__username="edgar").time_zone
    assert (zone_of(edgar), zone_of(elsewhere)) == ("Asia/Tokyo", "UTC")


def test_an_unknown_time_zone_of_the_browser_is_ignored(cast: Cast) -> None:
    for sent in ["Mars/Base", "../../etc/passwd", "<script>", '"', "x" * 3000, "europe/berlin"]:
        assert zone_of(Visitor("edgar", zone=sent)) == "UTC"


def test_a_time_zone_that_no_longer_exists_is_ignored(cast: Cast) -> None:
    Preferences.objects.change(User.objects.get(username="edgar").pk, time_zone="Europe/Atlantis")
    assert zone_of(Visitor("edgar", zone="Asia/Tokyo")) == "Asia/Tokyo"


def test_only_zones_of_places_are_offered() -> None:
    zones = offered_zones()
    assert zones[0] == "UTC"
    assert {"Europe/Berlin", "Asia/Kolkata", "America/Argentina/Buenos_Aires"} <= set(zones)
    assert not [one for one in zones if one.startswith(("Etc/", "posix/"))]


SHOWN = re.compile(r'<time datetime="([^"]+)" title="([^"]+)">([^<]+)</time>')


def test_every_page_shows_times_in_one_form_and_zone_with_utc_in_the_title(cast: Cast, kind: Kind) -> None:
    made = kind.make(cast.alice, autoPublish=True)
    kind.save(cast.edgar, text="later")
    then = datetime.datetime(2024, 2, 29, 20, 30, tzinfo=datetime.UTC)
    for rows in (Event.objects.all(), AgentVersion.objects.all(), PromptBlockVersion.objects.all()):
        models.QuerySet.update(rows, created_at=then)
    words = "Fri 1 March 2024, 05:30"
    title = f"{words} Asia/Tokyo (Thu 29 February 2024, 20:30 UTC)"
    alice = Visitor("alice", zone="Asia/Tokyo")
    pages = [page_of(kind, name) for name in ("change", "history", "activity", "publish")]
    pages += [page_of(kind, "version", "writer", made["activeVersionId"]), "/studio/waiting/"]
    pages += [KINDS[kind].address("changelist"), "/studio/", "/studio/activity/"]
    for page in pages:
        found = SHOWN.findall(alice.get(page).markup)
        shown = {text for iso, about, text in found if about == title}
        is_below_a_day = page == page_of(kind, "history")
        assert shown >= ({"05:30"} if is_below_a_day else {words}), page
    in_utc = "Thu 29 February 2024, 20:30 UTC"
    unknown = Visitor("alice").get("/studio/waiting/")
    assert ("2024-02-29T20:30:00+00:00", in_utc, in_utc) in SHOWN.findall(unknown.markup)


def test_keys_and_accounts_show_times_in_the_same_form(cast: Cast) -> None:
    then = datetime.datetime(2024, 2, 29, 20, 30, tzinfo=datetime.UTC)
    User.objects.filter(username="edgar").update(last_login=then, date_joined=then)
    User.objects.filter(username="alice").update(is_superuser=True)
    alice, edgar = Visitor("alice", zone="Asia/Tokyo"), User.objects.get(username="edgar")
    members = alice.get(workspace_page("members")).markup
    for page in (
        members,
        *(alice.get(f"/studio/auth/user/{rest}").markup for rest in ("", f"{edgar.pk}/change/")),
    ):
        assert "Fri 1 March 2024, 05:30" in [text for _iso, _title, text in SHOWN.findall(page)]
    alice.post(workspace_page("keys"), name="CI", role="viewer", last_day="2031-07-01")
    expires = ("2031-07-01T15:00:00+00:00", "Wed 2 July 2031, 00:00 Asia/Tokyo (Tue 1 July 2031, 15:00 UTC)")
    assert (*expires, "end of Tue 1 July 2031") in SHOWN.findall(alice.get(workspace_page("keys")).markup)


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
        answer = Visitor().get(f"/studio/translations/{chosen}.js")
        assert answer.status == status
        if status == 200:
            assert "gettext" in answer.markup and "immutable" in answer.headers["Cache-Control"]
