"""The pages about releases, and what other pages offer to do with them."""

from __future__ import annotations

import html
import re
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from capabilities.releases.models import Release
from tests.conftest import Cast
from tests.releases.conftest import Pair, item, live, make, publish
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.people import give_role
from tests.support.served import reference
from tests.support.studio import PageResponse, Visitor, page_of, workspace_page
from versioning.conf import get_editor
from versioning.domain.access import Role

RELEASES = workspace_page("releases")
TOGETHER, ADD = "/studio/releases/publish/", "/studio/releases/add/"


def of(release: dict[str, Any]) -> str:
    return workspace_page(f"releases/{release['id']}")


def tag(window: Visitor, address: str) -> str:
    return window.get(address).field("tag")


def values(pair: Pair) -> list[str]:
    return [f"agent:writer:{pair.new['writer']}", f"promptBlock:tone:{pair.new['tone']}"]


def test_a_release_shows_its_changes_and_is_published_with_one_button(cast: Cast, pair: Pair) -> None:
    release = make(cast.edgar, *pair.items(), description="For the campaign")
    paula = Visitor("paula")
    assert "Autumn Draft" in paula.get(RELEASES).text
    seen = paula.get(of(release))
    for words in ("For the campaign", "created by edgar", "Version 2", "Instructions"):
        assert words in seen.text
    assert seen.markup.count("<del") and f"/compare/?from={pair.old['tone']}" in html.unescape(seen.markup)
    ids = re.findall(r' id="([^"]+)"', seen.markup)
    assert len(ids) == len(set(ids))
    sent = paula.post(of(release), do="publish", tag=seen.field("tag"))
    assert sent.headers["Location"] == of(release)
    assert live(cast.alice, AGENTS, "writer") == pair.new["writer"]
    after = paula.get(of(release))
    assert "published by you" in after.text and 'value="publish"' not in after.markup
    assert "Autumn" in paula.get(RELEASES, show="published").text
    assert "Autumn" not in paula.get(RELEASES).text


def test_open_comments_are_counted_next_to_each_item_and_linked(cast: Cast, pair: Pair) -> None:
    release = make(cast.edgar, *pair.items())
    about = {"resource": {"kind": "agent", "id": "writer"}, "versionId": pair.new["writer"]}
    asked = [cast.edgar.post("/comments", {**about, "body": body}).body["id"] for body in ("Why?", "How?")]
    assert cast.edgar.patch(f"/comments/{asked[0]}", {"resolved": True}).status == 200
    seen = Visitor("paula").get(of(release))
    address = page_of(AGENTS, "version", "writer", pair.new["writer"])
    assert f'href="{address}#comments"' in seen.markup
    assert seen.text.count("open comment") == seen.text.count("1 open comment") == 1


def test_problems_are_shown_for_each_item(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.alice, "tone", "new")
    PROMPT_BLOCKS.make(cast.alice, "going", "new")
    AGENTS.make(cast.alice, "writer", [reference("tone")])
    release = make(cast.edgar, item(AGENTS, "writer"), item(PROMPT_BLOCKS, "going"))
    assert cast.alice.delete(PROMPT_BLOCKS.url("going")).status == 200
    paula = Visitor("paula")
    seen = paula.get(of(release))
    assert "This cannot be published yet." in seen.text and "It was deleted." in seen.text
    assert "tone" in seen.text and "disabled aria-describedby" in seen.markup
    refused = paula.post(of(release), do="publish", tag=seen.field("tag"))
    assert refused.status == 409 and "This cannot be published yet." in refused.text
    assert live(cast.alice, AGENTS, "writer") is None
    # A deleted item can still be removed, and missing ones added.
    edgar = Visitor("edgar")
    edgar.post(of(release), do="remove", item="promptBlock:going", tag=tag(edgar, of(release)))
    edgar.post(ADD, confirmed="yes", chosen=_value(cast, "tone"), release=release["id"])
    paula.post(of(release), do="publish", tag=tag(paula, of(release)))
    assert live(cast.alice, AGENTS, "writer") is not None


def _value(cast: Cast, block: str) -> str:
    found = cast.alice.get(PROMPT_BLOCKS.url(block), status="draft").body
    return f"promptBlock:{block}:{found['latestVersionId']}"


def test_a_newer_version_is_shown_and_taken_with_one_click(cast: Cast, pair: Pair) -> None:
    release = make(cast.edgar, *pair.items())
    newer = PROMPT_BLOCKS.save(cast.edgar, "tone", "newer")["latestVersionId"]
    edgar = Visitor("edgar")
    seen = edgar.get(of(release))
    assert "A newer version has been saved, version 3" in seen.text and "Take version 3" in seen.text
    edgar.post(of(release), do="newer", item="promptBlock:tone", version=newer, tag=seen.field("tag"))
    assert "A newer version" not in edgar.get(of(release)).text
    stored = cast.edgar.get(f"/releases/{release['id']}").body["items"]
    assert [one["versionId"] for one in stored] == [pair.new["writer"], newer]
    # A person with an older page gets the current state, and publishes nothing unseen.
    late = Visitor("paula").post(of(release), do="publish", tag=seen.field("tag"))
    assert late.status == 409 and "someone changed this release" in late.text
    assert live(cast.alice, AGENTS, "writer") == pair.old["writer"]


def test_a_revert_names_the_items_that_it_leaves_unchanged(cast: Cast, pair: Pair) -> None:
    release = make(cast.edgar, *pair.items())
    publish(cast.paula, release)
    PROMPT_BLOCKS.save(cast.paula, "tone", "hotfix", autoPublish=True)
    paula = Visitor("paula")
    assert "Revert…" in paula.get(of(release)).text
    back = paula.post(of(release), do="revert").headers["Location"]
    seen = paula.get(back)
    assert "Revert now (publish 1)" in seen.text and "Take version" not in seen.text
    assert (
        "“Writer” is left as it is" in seen.text
        and "goes back to what was live before the release Autumn" in seen.text
    )
    paula.post(back, do="publish", tag=seen.field("tag"))
    assert live(cast.alice, AGENTS, "writer") == pair.old["writer"]
    assert "Reverted" in paula.get(of(release)).text
    assert "You reverted the release Autumn" in paula.get(workspace_page("activity")).text


def test_a_release_is_created_renamed_and_deleted(cast: Cast) -> None:
    edgar = Visitor("edgar")
    assert edgar.post(workspace_page("releases/add"), title=" ").status == 400
    address = edgar.post(workspace_page("releases/add"), title="Winter", description="").headers["Location"]
    empty = Visitor("paula").get(address).text
    assert "The release is still empty." in empty
    assert "Publish release" in empty and "all 0" not in empty and "Schedule…" not in empty
    edgar.post(address, do="save", title="Spring", description="Warm", tag=tag(edgar, address))
    seen = edgar.get(address)
    assert "Spring" in seen.text
    wrong = edgar.post(address, do="save", title="", tag=seen.field("tag"))
    assert wrong.status == 400 and edgar.post(address, do="something").status == 404
    edgar.post(address, do="delete", tag=seen.field("tag"))
    assert not Release.objects.exists()
    assert "You deleted a release" in edgar.get(workspace_page("activity")).text


def test_several_drafts_are_published_together_from_the_waiting_page(cast: Cast, pair: Pair) -> None:
    paula = Visitor("paula")
    assert f'formaction="{TOGETHER}"' in paula.get("/studio/waiting/").markup
    asked = paula.post(TOGETHER, chosen=values(pair))
    assert "Publish 2 drafts together?" in asked.text and "Changes Instructions" in asked.text
    assert page_of(AGENTS, "compare") in "".join(asked.links)
    assert live(cast.alice, AGENTS, "writer") == pair.old["writer"] and not Release.objects.exists()
    sent = paula.post(TOGETHER, chosen=values(pair), confirmed="yes")
    assert live(cast.alice, AGENTS, "writer") == pair.new["writer"]
    assert live(cast.alice, PROMPT_BLOCKS, "tone") == pair.new["tone"]
    seen = paula.get(sent.headers["Location"])
    assert "2 versions went live together." in seen.text and "and 1 more" in seen.text
    activity = paula.get(workspace_page("activity"))
    assert "You published the release" in activity.text and "Together with the release" in activity.text


def test_drafts_changed_meanwhile_are_not_published_together(cast: Cast, pair: Pair) -> None:
    PROMPT_BLOCKS.save(cast.edgar, "tone", "newer")
    paula = Visitor("paula")
    assert "It has changed since you looked." in paula.post(TOGETHER, chosen=values(pair)).text
    paula.post(TOGETHER, chosen=values(pair), confirmed="yes")
    assert "Nothing was published: “Writer” has changed" in paula.get("/studio/waiting/").text
    assert live(cast.alice, AGENTS, "writer") == pair.old["writer"] and not Release.objects.exists()


def test_the_publish_page_publishes_an_agent_with_its_blocks(cast: Cast, pair: Pair) -> None:
    paula = Visitor("paula")
    page = paula.get(page_of(AGENTS, "publish"))
    form = re.search(rf'<form method="post" action="{TOGETHER}".*?</form>', page.markup, re.DOTALL)
    assert form is not None and "The agent and its block go live" in page.text
    named = re.findall(r'name="([^"]+)" value="([^"]*)"', form[0])
    fields = {name: [value for one, value in named if one == name] for name, _value in named}
    assert fields["chosen"] == values(pair)
    assert "Publish 2 drafts together?" in paula.post(TOGETHER, **fields).text
    PROMPT_BLOCKS.save(cast.edgar, "tone", "newer")
    late = paula.post(TOGETHER, **fields)
    assert "Publish 1 draft?" in late.text and "It has changed since you looked." in late.text
    paula.post(TOGETHER, **fields, confirmed="yes")
    assert live(cast.alice, AGENTS, "writer") == pair.old["writer"]
    page = paula.get(page_of(AGENTS, "publish"))
    named = re.findall(r'name="([^"]+)" value="([^"]*)"', page.markup.split(TOGETHER)[1].split("</form>")[0])
    fields = {name: [v for one, v in named if one == name] for name, _value in named}
    paula.post(TOGETHER, **fields, confirmed="yes")
    assert live(cast.alice, AGENTS, "writer") == pair.new["writer"]


def test_publishing_an_older_version_together_publishes_that_version(cast: Cast, pair: Pair) -> None:
    AGENTS.save(cast.edgar, "writer", description="later")
    paula = Visitor("paula")
    page = paula.get(page_of(AGENTS, "publish"), version=pair.new["writer"])
    named = re.findall(r'name="([^"]+)" value="([^"]*)"', page.markup.split(TOGETHER)[1].split("</form>")[0])
    fields = {name: [v for one, v in named if one == name] for name, _value in named}
    asked = paula.post(TOGETHER, **fields)
    assert "Version 2 in place of version 1" in asked.text and "Version 3" not in asked.text
    paula.post(TOGETHER, **fields, confirmed="yes")
    assert live(cast.alice, AGENTS, "writer") == pair.new["writer"]


def test_a_release_that_the_gate_refuses_is_stored_as_a_draft(cast: Cast, pair: Pair) -> None:
    get_editor().review_policy.set("acme", required=1)
    paula = Visitor("paula")
    sent = paula.post(TOGETHER, chosen=values(pair), confirmed="yes")
    seen = paula.get(sent.headers["Location"])
    assert "Nothing was published." in seen.text and "Needs one more approval." in seen.text
    assert live(cast.alice, AGENTS, "writer") == pair.old["writer"]
    alice, address = Visitor("alice"), sent.headers["Location"]
    shown = alice.get(address)
    assert "Publish without a review" in shown.text
    assert "Publish without a review" not in seen.text
    get_editor().review_policy.set("acme", required=1, bypass="nobody")
    seen = alice.get(address)
    assert seen.status == 200 and "Publish without a review" not in seen.text
    get_editor().review_policy.set("acme", required=1)
    forms = {name: shown.field(name) for name in ("tag", "overrules")}
    assert alice.post(address, do="publish", reason=" ", tag=forms["tag"]).status == 400
    alice.post(address, do="publish", reason="It is on fire", **forms)
    assert live(cast.alice, AGENTS, "writer") == pair.new["writer"]


def test_versions_are_added_from_the_menu_the_history_and_the_lists(cast: Cast, pair: Pair) -> None:
    edgar = Visitor("edgar")
    menu = f"{ADD}?chosen=agent%3Awriter%3A{pair.new['writer']}"
    older = f"{ADD}?chosen=agent%3Awriter%3A{pair.old['writer']}"
    assert menu in edgar.get(page_of(AGENTS, "change")).links
    assert {menu, older} <= set(edgar.get(page_of(AGENTS, "history")).links)
    assert f'formaction="{ADD}"' in edgar.get("/studio/versioning/agent/").markup
    asked = edgar.get(older.partition("?")[0], chosen=f"agent:writer:{pair.old['writer']}")
    assert asked.field("chosen") == f"agent:writer:{pair.old['writer']}" and "Version 1" in asked.text
    assert "Not the newest" in asked.text
    address = edgar.post(ADD, confirmed="yes", chosen=values(pair)[1], title="Mine").headers["Location"]
    known = Release.objects.get()
    assert "Mine" in edgar.get(address).text
    asked = edgar.post(ADD, chosen=values(pair)[0])
    assert asked.markup.index(f'value="{known.pk}"') < asked.markup.index("A new release")  # is preselected
    assert "Version 2 · Changes Instructions" in asked.text
    edgar.post(ADD, confirmed="yes", chosen=values(pair)[0], release=str(known.pk))
    assert known.items.count() == 2


def test_viewers_and_non_members_see_nothing_of_releases(cast: Cast, pair: Pair) -> None:
    release = make(cast.edgar, *pair.items())
    publish(cast.paula, release)
    for name, status in (("vera", 403), ("charlie", 404)):
        window = Visitor(name)
        for address in (RELEASES, of(release), workspace_page("releases/add")):
            assert window.get(address).status == status
        assert window.post(of(release), do="revert").status == status
        assert window.post(TOGETHER, chosen=values(pair), confirmed="yes").status in {403, 404}
        assert "Writer" not in window.post(TOGETHER, chosen=values(pair)).text
        for address in ("/studio/activity/", page_of(AGENTS, "activity"), page_of(AGENTS, "change")):
            seen = window.get(address)
            assert "Autumn" not in seen.text and "Add to release" not in seen.text
    assert Release.objects.count() == 1


def test_editors_prepare_releases_without_publishing_within_their_workspace(cast: Cast, pair: Pair) -> None:
    release = make(cast.edgar, *pair.items())
    edgar, charlie = Visitor("edgar"), Visitor("charlie")
    seen = edgar.get(of(release))
    assert 'value="publish"' not in seen.markup and "Someone who may publish" in seen.text
    assert edgar.post(of(release), do="publish", tag=seen.field("tag")).status == 403
    assert edgar.post(TOGETHER, chosen=values(pair), confirmed="yes").status == 403
    assert "You may not publish in its workspace." in edgar.post(TOGETHER, chosen=values(pair)).text
    assert Release.objects.count() == 1
    elsewhere = workspace_page(f"releases/{release['id']}", "elsewhere")
    assert charlie.get(elsewhere).status == 404 and edgar.get(elsewhere).status == 404
    assert charlie.post(ADD, confirmed="yes", chosen=values(pair)[0], release=release["id"]).status == 404
    assert live(cast.alice, AGENTS, "writer") == pair.old["writer"]


def test_the_page_of_a_large_release_takes_as_many_queries_as_of_a_small_one(cast: Cast) -> None:
    def queries(window: Visitor, address: str) -> int:
        window.get(address)
        with CaptureQueriesContext(connection) as counted:
            assert window.get(address).status == 200
        return len(counted)

    names = [f"block-{number}" for number in range(60)]
    for name in names:
        PROMPT_BLOCKS.make(cast.alice, name, "text")
    of_few = make(cast.edgar, *(item(PROMPT_BLOCKS, name) for name in names[:3]))
    of_many = make(cast.edgar, *(item(PROMPT_BLOCKS, name) for name in names))
    edgar = Visitor("edgar")
    assert queries(edgar, of(of_few)) == queries(edgar, of(of_many))
    paula = Visitor("paula")
    assert "All 60 are checked when they are published" in paula.get(of(of_many)).text
    assert queries(paula, of(of_many)) <= queries(paula, of(of_few))
    assert queries(paula, RELEASES) < 25


def forms(seen: PageResponse) -> list[dict[str, list[str]]]:
    """Return what each form for chosen resources on a page would send."""
    found = []
    for form in re.findall(r"<form [^>]*data-choose.*?</form>", seen.markup, re.DOTALL):
        named = re.findall(r'<input[^>]* name="([^"]+)"[^>]* value="([^"]*)"', form)
        found.append({name: [value for one, value in named if one == name] for name, _value in named})
    return found


def test_each_of_several_workspaces_gets_a_release_of_its_own(cast: Cast, pair: Pair) -> None:
    give_role("paula", "elsewhere", Role.PUBLISHER)
    elsewhere = PROMPT_BLOCKS.make(cast.charlie, "foreign", "text", workspaceId="elsewhere")
    foreign = f"promptBlock:foreign:{elsewhere['latestVersionId']}"
    paula = Visitor("paula")
    for address, words in ((ADD, "a release belongs to one"), (TOGETHER, "only what belongs to one")):
        asked = paula.post(address, chosen=[*values(pair), foreign])
        assert words in asked.text and "Elsewhere" in asked.text
        ours, theirs = forms(asked)
        assert (ours["chosen"], ours["later"]) == (values(pair), [foreign])
        assert (theirs["chosen"], theirs["later"]) == ([foreign], values(pair))
        then = paula.post(address, **theirs)
        assert then.status == 200 and "Open the page" in then.text
        [rest] = forms(then)
        assert rest["chosen"] == values(pair) and "later" not in rest
        assert paula.post(address, **rest).status == 302
        made = Release.objects.order_by("created_at")
        assert [one.workspace_id for one in made] == ["elsewhere", "acme"]
        if address == ADD:
            made.delete()
    assert live(cast.alice, AGENTS, "writer") == pair.new["writer"]
    assert live(cast.charlie, PROMPT_BLOCKS, "foreign") == elsewhere["latestVersionId"]


def test_a_choice_from_several_workspaces_cannot_be_a_release(cast: Cast, pair: Pair) -> None:
    give_role("paula", "elsewhere", Role.PUBLISHER)
    elsewhere = PROMPT_BLOCKS.make(cast.charlie, "foreign", "text", workspaceId="elsewhere")[
        "latestVersionId"
    ]
    chosen, paula = [*values(pair), f"promptBlock:foreign:{elsewhere}"], Visitor("paula")
    for address in (TOGETHER, ADD):
        refused = paula.post(address, chosen=chosen, confirmed="yes")
        assert refused.status == 400 and "you chose resources of several." in refused.text
    assert not Release.objects.exists() and live(cast.alice, AGENTS, "writer") == pair.old["writer"]
