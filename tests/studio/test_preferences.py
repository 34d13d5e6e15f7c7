"""What a person has chosen for the whole studio: the density, and that the introduction was read."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.conftest import Cast
from tests.support.window import Window

LIST = "/studio/versioning/agent/"


def density(window: Window, address: str = LIST) -> str:
    """Return the class of the page, with which it is drawn from the first moment."""
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


@pytest.mark.parametrize(
    ("came_from", "led_to"),
    [
        (f"http://testserver{LIST}?q=refund", f"{LIST}?q=refund"),
        ("https://elsewhere.example/studio/", "/studio/"),
        ("http://testserver/api/docs", "/studio/"),
        ("http://[", "/studio/"),
        ("", "/studio/"),
    ],
)
def test_choosing_leads_back_to_the_page_and_nowhere_else(cast: Cast, came_from: str, led_to: str) -> None:
    client = Client()
    client.force_login(User.objects.get(username="edgar"))
    answer = client.post("/studio/density/", {"density": "compact"}, headers={"Referer": came_from})
    assert (answer.status_code, answer.headers["Location"]) == (302, led_to)


def test_the_introduction_is_shown_until_the_person_has_dismissed_it(cast: Cast) -> None:
    edgar, vera = Window.of("edgar"), Window.of("vera")
    edgar.post("/studio/density/", density="compact")
    assert "How it works here" in edgar.get("/studio/").text
    assert "How it works here" not in edgar.get(LIST).text
    assert edgar.post("/studio/tour/").status == 302
    assert "How it works here" not in edgar.get("/studio/").text
    assert "How it works here" in Window.of("paula").get("/studio/").text
    assert "How it works here" not in vera.get("/studio/").text  # who only reads saves and publishes nothing
    assert density(edgar) == "compact"


@pytest.mark.parametrize("address", ["/studio/density/", "/studio/tour/"])
def test_looking_at_an_address_changes_nothing(cast: Cast, address: str) -> None:
    edgar = Window.of("edgar")
    assert edgar.get(address).status == 405
    assert (density(edgar), "How it works here" in edgar.get("/studio/").text) == ("comfortable", True)


def test_without_scripts_a_message_stands_above_what_the_page_is_about(cast: Cast) -> None:
    edgar = Window.of("edgar")
    edgar.post("/studio/language/", language="en")
    page = edgar.get("/studio/language/").markup
    assert page.index("The studio is in English now.") < page.index("<main")
