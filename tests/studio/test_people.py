"""People in the studio: their names and faces, “you”, and telling apart those who share a name."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

import studio
from studio.accounts.views import NameForm
from studio.named import FACES, colour_of, initials
from tests.conftest import Cast
from tests.support.api import Kind
from tests.support.studio import Visitor, page_of, workspace_page
from versioning.models import Membership

NAME_PAGE = "/studio/name/"
GERMAN = {"Accept-Language": "de"}


def call(username: str, first: str, last: str) -> None:
    """Give a person of the cast a name."""
    User.objects.filter(username=username).update(first_name=first, last_name=last)


def test_a_person_is_shown_by_name_and_face_to_others_and_as_you_to_themselves(
    cast: Cast, kind: Kind
) -> None:
    kind.make(cast.edgar)
    call("edgar", "Edgar", "Poe")
    face = f'<span class="face face-{colour_of("edgar")}" data-initials="EP" aria-hidden="true"></span>'
    shown = f'<span class="person">{face}<bdi title="edgar">Edgar Poe</bdi></span>'
    for page in ("history", "activity", "publish"):
        assert shown in Visitor("alice").get(page_of(kind, page)).markup, page
    assert any("Edgar Poe" in row for row in Visitor("alice").list(kind))
    own = Visitor("edgar")
    assert f'{face}<bdi title="edgar">You</bdi>' in own.get(page_of(kind, "history")).markup
    assert "You created this" in own.get(page_of(kind, "activity")).text
    assert "saved by you just now" in own.get("/studio/waiting/").text


def test_in_german_the_reader_is_named_where_the_verb_needs_it(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    call("edgar", "Edgar", "Poe")
    client = Visitor("edgar")
    activity, history = (
        client.get(page_of(kind, page), headers=GERMAN).words for page in ("activity", "history")
    )
    assert "Edgar Poe (Sie) hat" in activity
    assert "Sie ," in history


def test_people_who_share_a_name_on_a_page_are_told_apart(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    kind.save(cast.paula, text="more")
    call("edgar", "Kim", "Doe")
    alice = Visitor("alice")
    assert "<small>" not in alice.get(page_of(kind, "history")).markup
    call("paula", "KIM", "Doe")
    seen = alice.get(page_of(kind, "history")).markup
    assert {"Kim Doe</bdi> <small>edgar</small>", "KIM Doe</bdi> <small>paula</small>"} <= set(
        re.findall(r"K\w+ Doe</bdi> <small>\w+</small>", seen)
    )


def test_nobody_passes_for_somebody_else_by_taking_a_user_name_as_a_name(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    call("edgar", "alice", "")
    assert "alice</bdi> <small>edgar</small>" in Visitor("paula").get(page_of(kind, "history")).markup


def test_a_name_is_text_wherever_it_stands(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    call("edgar", '"><script>', "{name} %s")
    alice = Visitor("alice")
    for address in (page_of(kind, "history"), page_of(kind, "activity"), workspace_page("members")):
        seen = alice.get(address)
        assert seen.status == 200
        assert "<script>" not in seen.markup.replace("<script ", "")
        assert "&quot;&gt;&lt;script&gt; {name} %s" in seen.markup


def test_a_text_cannot_become_the_name_of_a_person(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, text="\ue0001:0\ue001 \ue000123:0\ue001")
    seen = Visitor("alice").get(page_of(kind, "preview"))
    assert "\ue0001:0\ue001" in seen.markup


def test_who_is_gone_and_the_application_itself_read_well(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    Membership.objects.filter(user__username="edgar").delete()
    kind.save(cast.alice, autoPublish=True)
    User.objects.filter(username="alice").update(username="gone")
    seen = Visitor("paula").get(page_of(kind, "activity")).text
    assert "alice published version 2" in seen
    assert "edgar created this" in seen


def test_all_people_of_a_page_are_found_with_one_query(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    kind.save(cast.paula, text="second")
    kind.save(cast.alice, text="third", autoPublish=True)
    edgar = Visitor("edgar")
    edgar.get(page_of(kind, "activity"))
    with CaptureQueriesContext(connection) as queries:
        edgar.get(page_of(kind, "activity"))
    about_people = [one["sql"] for one in queries if '."username" IN (' in one["sql"]]
    assert len(about_people) == 1


# The page on which people set their name


def test_a_person_sets_their_name(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    edgar = Visitor("edgar")
    assert f'href="{NAME_PAGE}"' in edgar.get("/studio/preferences/").markup
    answer = edgar.submit(NAME_PAGE, first_name=" Edgar ", last_name="Allan Poe")
    assert "You are now shown as Edgar Allan Poe." in answer.words
    assert User.objects.get(username="edgar").get_full_name() == "Edgar Allan Poe"
    assert "Edgar Allan Poe" in Visitor("alice").get(page_of(kind, "history")).text
    edgar.post(NAME_PAGE, first_name="", last_name="")
    assert "Edgar" not in Visitor("alice").get(page_of(kind, "history")).text


def test_a_name_that_cannot_be_read_is_refused(cast: Cast) -> None:
    for name in [
        "\u202eecila",
        "a\u2066b",
        "\u200b",
        "pau\u200bla",
        "a\u200fb",
        "---",
        "a" * 61,
        "p\u0430ula",
        "a" + "\u0301" * 4,
        "you",
        "THE application",
        "Die Anwendung",
        "a\x00b",
        "a\x07b",
        "a\u2028b",
    ]:
        assert "first_name" in NameForm({"first_name": name, "last_name": ""}).errors, name
    seen = Visitor("edgar").post(NAME_PAGE, first_name=name, last_name="")
    assert seen.status == 400 and 'class="error"' in seen.markup
    assert User.objects.get(username="edgar").first_name == ""


def test_names_of_all_scripts_are_accepted(cast: Cast) -> None:
    for name in ["Nguyễn", "\u05e9\u05c1\u05b8", "Иван Smith", "田中 Anna", "Zoë-Marie O'Hara"]:
        assert NameForm({"first_name": name, "last_name": ""}).is_valid()


def test_the_messages_after_a_form_name_people(cast: Cast) -> None:
    call("edgar", "Edgar", "Poe")
    alice = Visitor("alice")
    said = alice.submit(workspace_page("members/edgar/role"), role="publisher").words
    assert "Edgar Poe now has the role publisher." in said
    assert "Remove Edgar Poe?" in alice.get(workspace_page("members/edgar/remove")).words


# Faces


def test_initials() -> None:
    for name, expected in [
        ("Grace Hopper", "GH"),
        ("grace.hopper", "GH"),
        ("Grace Brewster Murray Hopper", "GH"),
        ("ada", "A"),
        ("åsa öberg", "ÅÖ"),
        ("محمد علي", "مع"),
        ("हिन्दी", "हि"),
        ("ß", "S"),
        ("@+", ""),
    ]:
        assert initials(name) == expected


def test_colours_differ_between_people_and_stay_the_same() -> None:
    assert (colour_of("ada"), colour_of("grace")) == (colour_of("ada"), colour_of("grace"))
    often = Counter(colour_of(f"person-{number}") for number in range(1200))
    assert len(often) == FACES
    assert max(often.values()) < 3 * min(often.values())


def _luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_initials_can_be_read_on_every_colour_in_light_and_dark() -> None:
    tokens = (Path(studio.__file__).parent / "static/studio/tokens.css").read_text(encoding="utf-8")
    found = dict(re.findall(r"--(face-\w+): light-dark\((#\w{6}, #\w{6})\)", tokens))
    assert set(found) == {"face-ink", *(f"face-{number}" for number in range(FACES))}
    for mode in (0, 1):
        ink = _luminance(found["face-ink"].split(", ")[mode])
        for name, colours in found.items():
            if name != "face-ink":
                ground = _luminance(colours.split(", ")[mode])
                contrast = (max(ink, ground) + 0.05) / (min(ink, ground) + 0.05)
                assert contrast >= 4.5, (name, mode, contrast)
