"""Examples: named contexts of a resource. Who sees and changes them, and when they go."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest

from studio import examples
from studio.models import Example
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.calls import undone
from tests.support.people import give_role, key_of, person
from tests.support.served import published_agent, published_block, text
from tests.support.studio import PageResponse, Visitor, page_of
from versioning.domain.access import Role

GOLD = {"given.tier": "gold", "given.customer.name": "Ada"}
WORDS = "{{ tier }} {{ customer.name || 'you' }}"


@pytest.fixture
def greeting(cast: Cast, kind: Kind) -> Kind:
    """The kind of a published resource with a draft, both of which ask for a tier and a name."""
    if kind is AGENTS:
        published_agent(cast.alice, "writer", [text(WORDS)], model={"provider": "echo", "name": "echo"})
        AGENTS.save(cast.alice, "writer", [text(f"Draft: {WORDS}")])
    else:
        published_block(cast.alice, "writer", WORDS)
        PROMPT_BLOCKS.save(cast.alice, "writer", f"Draft: {WORDS}")
    return kind


def send(name: str, kind: Kind, do: str, resource_id: str = "writer", **typed: str) -> PageResponse:
    """Press a button of the form on the preview page."""
    fields = {key.replace("__", "."): value for key, value in typed.items()}
    return Visitor(name).post(page_of(kind, "context", resource_id), do=do, **fields)


def chosen_one(example: str, revision: int = 1) -> dict[str, str]:
    """Return the hidden fields of a form that was opened with an example."""
    return {"example": example, "example_tag": f"{example}.{revision}"}


def keep(kind: Kind, example: str = "Gold customer", by: str = "edgar", **typed: str) -> str:
    """Save an example and return its id."""
    answer = send(by, kind, "save_as", example_name=example, **(typed or GOLD))
    assert answer.status == 200, answer.text
    return str(Example.objects.get(name=example).pk)


def offered(name: str, kind: Kind, page: str = "preview", resource_id: str = "writer") -> list[str]:
    markup = Visitor(name).get(page_of(kind, page, resource_id)).markup
    chooser = re.search(r'<select[^>]*name="example".*?</select>', markup, re.DOTALL)
    return [unescape(one) for one in re.findall(r'value="\d+"[^>]*>(.*?)<', chooser[0])] if chooser else []


def assembled(seen: PageResponse) -> str:
    """Return the text of the instructions on a page."""
    found = re.search(r'aria-label="The assembled text">\n(.*?)</pre>', seen.markup, re.DOTALL)
    assert found is not None, seen.text
    return unescape(re.sub(r"<[^>]+>", "", found[1]))


def test_an_example_is_saved_and_fills_in_the_fields_on_every_page(greeting: Kind) -> None:
    example = keep(greeting)
    assert json.loads(Example.objects.get().context_json) == {"tier": "gold", "customer": {"name": "Ada"}}
    assert offered("paula", greeting) == offered("paula", greeting, "change") == ["Gold customer"]
    seen = Visitor("paula").get(page_of(greeting, "preview"), example=example)
    assert assembled(seen) == "Draft: gold Ada"
    assert seen.field("given.customer.name") == "Ada"
    none = send("paula", greeting, "load", example="", **GOLD)
    assert assembled(none) == "Draft: {{ tier }} you"
    again = Visitor("paula").get(page_of(greeting, "context"), example=example)
    assert json.loads(again.markup)["context"] == {"tier": "gold", "customer": {"name": "Ada"}}


def test_an_example_is_saved_over_renamed_and_deleted(greeting: Kind) -> None:
    chosen = chosen_one(keep(greeting))
    assert send("paula", greeting, "save", **chosen, given__tier="silver").status == 200
    assert Example.objects.get().context == {"tier": "silver"}
    chosen = chosen_one(chosen["example"], 2)
    assert send("paula", greeting, "rename", **chosen, example_name=" Silver  customer ").status == 200
    assert offered("edgar", greeting) == ["Silver customer"]
    gone = send("edgar", greeting, "delete", **chosen_one(chosen["example"], 3), given__tier="silver")
    assert gone.status == 200 and offered("edgar", greeting) == []
    assert assembled(gone) == "Draft: silver you"  # its values are still filled in


def test_readers_of_drafts_see_examples_and_editors_change_them(cast: Cast, greeting: Kind) -> None:
    chosen = chosen_one(keep(greeting))
    assert offered("vera", greeting) == []
    assert "Gold" not in Visitor("vera").get(page_of(greeting, "preview"), example=chosen["example"]).markup
    pages = [page_of(greeting, "context"), page_of(greeting, "preview"), page_of(greeting, "change")]
    assert Visitor("vera").get(pages[0], example=chosen["example"]).status == 404
    assert {Visitor("charlie").get(page, example=chosen["example"]).status for page in pages} == {404}
    for do in ("save", "save_as", "rename", "delete"):
        typed = {**chosen, "example_name": "Mine", "given.tier": "tin"}
        assert send("vera", greeting, do, **typed).status in {400, 403}
        assert send("charlie", greeting, do, **typed).status == 404
    kept = Example.objects.get()
    assert (kept.name, kept.context["tier"], kept.revision) == ("Gold customer", "gold", 1)
    give_role("edgar", "acme", Role.VIEWER)
    assert send("edgar", greeting, "save_as", example_name="Late", given__tier="tin").status == 403


def test_non_members_see_no_examples_or_draft_placeholders_of_a_public_agent(cast: Cast) -> None:
    words = [text("{{ tier }}")]
    AGENTS.make(cast.alice, "writer", words, visibility="public", autoPublish=True)
    AGENTS.save(cast.alice, "writer", [text("{{ tier }} {{ secret_plan }}")])
    chosen = chosen_one(keep(AGENTS, given__tier="gold"))
    for page in ("preview", "try", "change"):
        seen = Visitor("charlie").get(page_of(AGENTS, page), example=chosen["example"])
        assert seen.status == 200
        assert not any(word in seen.markup for word in ("Gold customer", 'value="gold"', "secret_plan"))
    assert Visitor("charlie").get(page_of(AGENTS, "context"), example=chosen["example"]).status == 404
    for do in ("save", "save_as", "rename", "delete"):
        answer = send("charlie", AGENTS, do, **chosen, example_name="Mine", given__tier="tin")
        assert answer.status in {400, 403}
    assert Example.objects.get().context == {"tier": "gold"}


def test_an_example_can_be_used_only_on_its_own_resource(cast: Cast, greeting: Kind) -> None:
    example = keep(greeting)
    greeting.make(cast.charlie, "theirs")
    assert Visitor("charlie").get(page_of(greeting, "context", "theirs"), example=example).status == 404
    answer = send("charlie", greeting, "delete", "theirs", **chosen_one(example))
    assert answer.status == 400 and Example.objects.count() == 1
    other = PROMPT_BLOCKS if greeting is AGENTS else AGENTS
    other.make(cast.alice, "writer")
    assert offered("edgar", other) == []


def test_a_taken_name_is_refused_and_the_typed_values_are_shown_again(greeting: Kind) -> None:
    keep(greeting)
    again = send("paula", greeting, "save_as", example_name="Gold customer", given__tier="tin")
    assert again.status == 409 and "There is already an example with this name." in again.text
    assert again.field("example_name") == "Gold customer" and assembled(again) == "Draft: tin you"
    keep(greeting, "Silver", given__tier="silver")
    silver = str(Example.objects.get(name="Silver").pk)
    taken = send("paula", greeting, "rename", **chosen_one(silver), example_name="Gold customer")
    assert taken.status == 409 and Example.objects.get(pk=silver).name == "Silver"


def test_a_stale_change_of_an_example_is_refused(greeting: Kind) -> None:
    for do in ["save", "rename", "delete"]:
        with undone():
            chosen = chosen_one(keep(greeting))
            send("paula", greeting, "save", **chosen, given__tier="silver")
            late = send("edgar", greeting, do, **chosen, given__tier="tin", example_name="Tin")
            assert late.status == 409 and "Someone has changed or deleted the example" in late.text
            assert late.field("given.tier") == "tin" and "as it is now" in late.text
            assert send("edgar", greeting, "load", **chosen).field("given.tier") == "silver"
            kept = Example.objects.get()
            assert (kept.name, kept.context) == ("Gold customer", {"tier": "silver"})


def test_the_tag_of_one_example_does_not_allow_saving_another(greeting: Kind) -> None:
    gold, silver = keep(greeting, "Gold"), keep(greeting, "Silver", given__tier="silver")
    for tag in (f"{gold}.1", "", "1", "x" * 5000):
        mixed = {"example": silver, "example_tag": tag}
        assert send("edgar", greeting, "save", **mixed, given__tier="gold").status == 409
    assert Example.objects.get(pk=silver).context == {"tier": "silver"}


def test_bad_examples_are_refused_by_name(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.alice, "writer", WORDS)
    for typed, word in [
        ({"example_name": " "}, "needs a name"),
        ({"example_name": "x" * 81}, "up to 80 characters"),
        ({"example_name": "a\x00b"}, "up to 80 characters"),
        ({"example_name": "Gold", "given__tier": "a\x00b"}, "NUL"),
        ({"example_name": "Gold", "context": "[]"}, "must be a JSON object"),
        ({"example_name": "Gold", "context": json.dumps({"x": "y" * examples.MAX_CONTEXT})}, "50000"),
    ]:
        answer = send("edgar", PROMPT_BLOCKS, "save_as", **typed)
        assert answer.status == 400 and word in answer.text
        assert not Example.objects.exists()


def test_the_number_of_examples_is_limited(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    PROMPT_BLOCKS.make(cast.alice, "writer", WORDS)
    monkeypatch.setattr(examples, "MAX_EXAMPLES", 2)
    keep(PROMPT_BLOCKS, "One")
    keep(PROMPT_BLOCKS, "Two")
    answer = send("edgar", PROMPT_BLOCKS, "save_as", example_name="Three")
    assert answer.status == 400 and "There are already 2 examples" in answer.text


def test_deleting_a_resource_deletes_its_examples(cast: Cast, greeting: Kind) -> None:
    keep(greeting)
    assert cast.alice.delete(greeting.url("writer"), if_match="*").status == 200
    assert not Example.objects.exists()
    greeting.make(cast.alice, "writer", [text(WORDS)] if greeting is AGENTS else WORDS)
    assert offered("edgar", greeting) == []


def test_examples_of_a_code_defined_agent_remain_after_its_override_is_deleted(
    cast: Cast, settings: Any
) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    person("ada", default=Role.ADMIN)
    ada = key_of("ada")
    assert send("ada", AGENTS, "save_as", "answers", example_name="Before", context='{"a": 1}').status == 200
    ada.post(AGENTS.path, {"id": "answers", "instructions": "over", "autoPublish": True})
    assert offered("ada", AGENTS, resource_id="answers") == ["Before"]
    assert ada.delete(AGENTS.url("answers"), if_match="*").status == 200
    assert offered("ada", AGENTS, resource_id="answers") == ["Before"]
    assert send("charlie", AGENTS, "save_as", "answers", example_name="Theirs").status in {403, 404}


def test_a_context_that_cannot_be_read_is_named_in_the_preview(greeting: Kind) -> None:
    for more in ({}, {"fragment": ""}):
        seen = send("edgar", greeting, "show", context="{broken", **more)
        assert "This cannot be previewed. Context: " in seen.text
    seen = send("edgar", greeting, "show", context="[]")
    assert "Context: This must be a JSON object, such as" in seen.text
