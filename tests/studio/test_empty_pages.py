"""Pages where nothing is yet: they say what belongs there, with an example to begin with."""

from __future__ import annotations

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.window import KINDS, Window

EXAMPLES = {AGENTS: "{{ shop.name || 'our shop' }}", PROMPT_BLOCKS: "Write plainly and warmly."}


def test_an_empty_list_has_an_example_and_a_button_for_who_may_create(cast: Cast, kind: Kind) -> None:
    address = KINDS[kind].address("changelist")
    editors, viewers = (Window.of(name).get(address) for name in ("edgar", "vera"))
    assert EXAMPLES[kind] in editors.text
    assert KINDS[kind].address("add") in editors.links
    assert "nothing here yet that you can read" in viewers.text
    assert KINDS[kind].address("add") not in viewers.links
    kind.make(cast.alice)
    assert EXAMPLES[kind] not in Window.of("edgar").get(address).text


@pytest.mark.parametrize(
    ("address", "example"),
    [
        ("/studio/versioning/workspace/acme/keys/", "curl --oauth2-bearer ek_… http://testserver/api/agents"),
        ("/studio/versioning/workspace/acme/webhooks/", '"type": "agent.published"'),
        ("/studio/search/?q=xyzzy", '"within 30 days"'),
    ],
)
def test_an_empty_page_has_an_example(cast: Cast, address: str, example: str) -> None:
    assert example in Window.of("alice").get(address).text


def test_an_activity_without_events_says_how_a_program_follows_it(cast: Cast) -> None:
    seen = Window.of("vera").get("/studio/activity/")
    assert "curl --oauth2-bearer ek_… http://testserver/api/events" in seen.text
    narrowed = Window.of("vera").get("/studio/activity/", actor="nobody")
    assert "Nothing matches." in narrowed.text
