"""Every search and filter by text, through its page or route: case and normal form make no difference.

What is searched is in `SEARCHES`, once; `test_every_query_is_listed` finds the calls in the code.
"""

from __future__ import annotations

import ast
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capabilities.accounts.directory import accounts as directory
from capabilities.mail.studio import find_accounts
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.datasets import add_item, make_dataset
from tests.support.people import give_role, key_of, person
from tests.support.studio import KINDS, Visitor, page_of
from versioning.models.accounts import accounts_alike

pytestmark = [pytest.mark.database, pytest.mark.django_db]

ROOT = Path(__file__).parents[2]
STORED = "Über Straße ΣΊΣΥΦΟΣ"
TYPED = [STORED, "über STRASSE σίσυφος", unicodedata.normalize("NFD", "ÜBER straße ΣΊΣΥΦΟς")]
SHARED = "Álvaro"


@pytest.fixture
def world(cast: Cast) -> Cast:
    AGENTS.make(cast.alice, "writer", "Be brief.", name="Writer")
    AGENTS.make(cast.alice, "named", "x", name=STORED)
    PROMPT_BLOCKS.make(cast.alice, "about", f"A text: {STORED}.", name="About")
    PROMPT_BLOCKS.make(cast.alice, "named-block", "x", name=STORED)
    user = person("alvaro")
    user.first_name, user.email = STORED, "Älva@example.org"
    user.set_password("a password of no one else")
    user.save()
    give_role("alvaro", "acme", "editor")
    add_item(
        cast.alice, make_dataset(cast.alice, name="Items"), input=f"It is {STORED}", metadata={"colour": 7}
    )
    return cast


def listed(api: Api, path: str, key: str, **query: Any) -> list[str]:
    answer = api.get(path, **query)
    assert answer.status == 200, answer.body
    return sorted(str(one.get("name", one["id"])) for one in answer.body[key])


def picked(address: str, **query: str) -> list[str]:
    found = Visitor("alice").get(address, query).json()["choices"]
    return sorted(one["name"] or one["id"] for one in found)


def of_picker(kind: str) -> Callable[[Cast, str], list[str]]:
    def search(_cast: Cast, typed: str) -> list[str]:
        answer = Visitor("alice").get(page_of(AGENTS, "choices"), of=kind, q=typed)
        return sorted(one["name"] for one in json.loads(answer.content)["choices"])

    return search


def in_items(cast: Cast, typed: str) -> list[str]:
    [dataset] = cast.alice.get("/datasets").body["datasets"]
    answer = cast.alice.get(f"/datasets/{dataset['id']}/items", search=typed)
    return [one["input"] for one in answer.body["items"]]


def activity(_cast: Cast, typed: str) -> list[str]:
    return ["named"] if STORED in Visitor("alice").get("/studio/activity/", target=typed).words else []


def accounts(_cast: Cast, typed: str) -> list[str]:
    page = Visitor("root").get("/studio/auth/user/", q=typed).words
    return [name for name in ("alvaro", "alice") if name in page]


SEARCHES: dict[str, tuple[Callable[[Cast, str], list[str]], list[str]]] = {
    "the lists of the API": (
        lambda cast, typed: listed(cast.alice, "/stored/prompt-blocks", "promptBlocks", search=typed),
        ["About", STORED],
    ),
    "the picker of prompt blocks": (of_picker("prompt"), [STORED]),
    "the picker of agents": (of_picker("agent"), [STORED]),
    "the picker of people": (
        lambda _cast, typed: picked("/studio/people/", workspace="acme", q=typed),
        [STORED],
    ),
    "the items of a dataset": (in_items, [f"It is {STORED}"]),
    "the activity page": (activity, ["named"]),
    "the accounts of superusers": (accounts, ["alvaro"]),
}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("typed", TYPED)
def test_a_search_ignores_case_and_normal_form(world: Cast, search: str, typed: str) -> None:
    find, wanted = SEARCHES[search]
    assert find(world, typed) == wanted
    assert find(world, "Ueber") == []


def test_names_of_accounts_are_the_same_in_any_case(world: Cast) -> None:
    person("älva")
    for name in ("ÄLVA", "A\u0308LVA", "älva"):
        assert [one.get_username() for one in accounts_alike(name)] == ["älva"]
        assert [one.get_username() for one in directory.list_people("username", name)] == ["älva"]
    answer = world.alice.post("/workspaces/acme/invitations", {"username": "ÄLVA", "role": "viewer"})
    assert answer.status == 400, answer.body
    assert [one.get_username() for one in find_accounts("äLVA@EXAMPLE.org")] == ["alvaro"]


@pytest.mark.both_kinds
def test_names_in_filters_are_found_in_any_case(cast: Cast, kind: Kind) -> None:
    person("z\u00f6e")
    give_role("z\u00f6e", "acme", "editor")
    kind.make(cast.alice, "hers", name="Of Alice")
    labelled = kind.make(cast.alice, "labelled", name="With a label")
    path = f"{kind.path}/labelled/labels/beta"
    assert cast.alice.put(path, {"versionId": labelled["latestVersionId"]}).status == 200
    kind.make(key_of("z\u00f6e"), "zoes", name="Of Zoe")
    for who in ("z\u00f6e", "Z\u00d6E", "ZO\u0308E"):
        page = Visitor("alice").get(KINDS[kind].address("changelist"), author=who).words
        assert "Of Zoe" in page and "Of Alice" not in page
        page = Visitor("root").get("/studio/activity/", actor=who).words
        assert "Of Zoe" in page and "Of Alice" not in page
    page = Visitor("alice").get(KINDS[kind].address("changelist"), label="BETA").words
    assert "With a label" in page and "Of Alice" not in page


@pytest.mark.both_kinds
def test_a_folder_is_an_exact_beginning(cast: Cast, kind: Kind) -> None:
    for folder in ("team", "TEAM", "teams", "täam", "t_am"):
        kind.make(cast.alice, f"{folder}/one", name=f"Of {folder}")
    page = Visitor("alice").get(KINDS[kind].address("changelist"), folder="team/").words
    assert "Of team" in page and not [one for one in ("TEAM", "teams", "täam") if f"Of {one}" in page]


def test_targets_of_datasets_are_exact(cast: Cast) -> None:
    for name in ("team/a", "TEAM/a"):
        AGENTS.make(cast.alice, name, "x", name=name)
        make_dataset(cast.alice, name=f"For {name}", targetType="agent", targetIds=[name])
    found = listed(cast.alice, "/datasets", "datasets", targetType="agent", targetIds="team/a")
    assert found == ["For team/a"]


def test_items_are_searched_by_their_values(cast: Cast) -> None:
    dataset = make_dataset(cast.alice, name="Values")
    texts = ['She said "hello" to me', "first line\nsecond line", "C:\\new", "ÖLWECHSEL"]
    for text in texts:
        add_item(cast.alice, dataset, input={"question": text}, metadata={"colour": "red", "price": 19.5})

    def found(text: str) -> int:
        return len(cast.alice.get(f"{dataset}/items", search=text).body["items"])

    for text in ('said "hello"', "line\nsecond", "C:\\new", "ölwechsel"):
        assert found(text) == 1
    assert found("19.5") == found("RED") == len(texts)
    assert [found(name) for name in ("question", "metadata", "colour", "red19", "50%")] == [0] * 5
    answer = cast.alice.get(f"{dataset}/items", search="x" * 201)
    assert (answer.status, answer.fields) == (400, ["search"])


def test_what_is_purged_is_not_found(cast: Cast) -> None:
    dataset = make_dataset(cast.alice, name="Purged")
    item = add_item(cast.alice, dataset, input="a secret")
    assert cast.alice.request("DELETE", f"{dataset}/items/{item['id']}/purge").status == 200
    assert cast.alice.get(f"{dataset}/items", search="secret").body["items"] == []


QUERIES = {
    "capabilities/accounts/directory/accounts.py": {"accounts_alike"},
    "capabilities/evaluation/datasets/verbs.py": {"contains"},
    "capabilities/evaluation/datasets/models.py": {"contains", "contains_caseless"},
    "capabilities/evaluation/experiments/api.py": {"contains"},
    "capabilities/evaluation/experiments/comparing.py": {"contains"},
    "capabilities/evaluation/experiments/results.py": {"contains"},
    "capabilities/evaluation/experiments/models.py": {"begins"},
    "capabilities/evaluation/gates/models.py": {"contains"},
    "capabilities/mail/studio.py": {"equals_caseless"},
    "capabilities/review/comments.py": {"accounts_alike"},
    "capabilities/review/studio/threads.py": {"begins"},
    "studio/accounts/admin.py": {"contains_words"},
    "studio/activity/views.py": {"contains_caseless"},
    "studio/named.py": {"contains_caseless"},
    "studio/personal_data.py": {"contains"},
    "studio/workspaces/members.py": {"contains_words"},
    "versioning/editor/blocks.py": {"contains"},
    "versioning/editor/catalog/criteria.py": {"begins"},
    "versioning/editor/catalog/catalog.py": {"contains"},
    "versioning/editor/catalog/text_search.py": {"contains"},
    "versioning/editor/invitations.py": {"equals_caseless"},
    "versioning/models/accounts.py": {"accounts_alike", "equals_caseless"},
    "versioning/models/personal_data.py": {"contains"},
    "versioning/models/querysets.py": {"begins"},
}
"""The modules with queries for texts, and the conditions that they call."""
CONDITIONS = {
    "accounts_alike",
    "begins",
    "contains",
    "contains_caseless",
    "contains_words",
    "equals",
    "equals_caseless",
}


def test_every_query_is_listed() -> None:
    found: dict[str, set[str]] = {}
    for path in sorted(ROOT.glob("*/**/*.py")):
        name = str(path.relative_to(ROOT))
        if name.startswith(("tests/", ".venv/", "client/")) or name == "versioning/models/text_keys.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CONDITIONS:
                found.setdefault(name, set()).add(node.func.id)
    assert found == QUERIES
