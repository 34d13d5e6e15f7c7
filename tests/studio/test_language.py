"""The language of the studio: a person's choice, else the browser's; the API stays as it is."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.conftest import Cast

GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}


@pytest.fixture
def edgar(cast: Cast) -> Client:
    client = Client()
    client.force_login(User.objects.get(username="edgar"))
    return client


def language(client: Client, headers: dict[str, str] = GERMAN) -> str:
    return client.get("/studio/", headers=headers).headers["Content-Language"]


def test_the_browser_decides_until_the_person_does(edgar: Client) -> None:
    assert language(edgar) == "de"
    assert language(edgar, {"Accept-Language": "fr"}) == "en"
    for chosen in ("en", "de"):
        edgar.post("/studio/language/", {"language": chosen})
        assert language(edgar) == language(edgar, {}) == chosen
    for chosen in ("", "xx", "../../etc"):
        edgar.post("/studio/language/", {"language": chosen})
        assert (language(edgar), language(edgar, {})) == ("de", "en")


def test_nobody_else_gets_the_language_of_a_page(edgar: Client) -> None:
    edgar.post("/studio/language/", {"language": "de"})
    assert 'lang="de"' in edgar.get("/studio/").content.decode()
    assert 'lang="en"' in Client().get("/studio/login/").content.decode()


def test_the_api_answers_in_english(cast: Cast) -> None:
    for path in ("/agents", "/stored/agents?perPage=many"):
        plain = cast.alice.client.get(f"/api{path}", headers={"Authorization": f"Bearer {cast.alice.key}"})
        german = cast.alice.client.get(
            f"/api{path}", headers={"Authorization": f"Bearer {cast.alice.key}", **GERMAN}
        )
        assert plain.json() == german.json()
    assert plain.status_code == 400


@pytest.mark.parametrize(("chosen", "status"), [("de", 200), ("en", 200), ("fr", 404)])
def test_scripts_get_their_translations_before_anybody_signs_in(db: None, chosen: str, status: int) -> None:
    answer = Client().get(f"/studio/translations/{chosen}.js")
    assert answer.status_code == status
    if status == 200:
        assert "gettext" in answer.content.decode() and "immutable" in answer.headers["Cache-Control"]
