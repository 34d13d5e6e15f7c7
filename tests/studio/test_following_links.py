"""A viewer who follows every link of the studio finds no draft."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import quote, urljoin, urlsplit

from tests.conftest import Cast
from tests.support.api import AGENTS
from tests.support.studio import Visitor

DRAFT_WORDS = "words-of-a-draft-that-a-viewer-may-not-see"
HERE = "http://testserver"


def test_a_viewer_sees_no_draft_on_any_page(cast: Cast) -> None:
    for agent_id, is_published in (("only-a-draft", False), ("with-a-draft", True)):
        AGENTS.make(cast.paula, agent_id, "Live words.", autoPublish=is_published)
        draft_id = AGENTS.save(cast.edgar, agent_id, DRAFT_WORDS)["latestVersionId"]
    vera, seen, agent = Visitor("vera"), set[str](), "/studio/versioning/agent/with-a-draft"
    views = ("change", "history", "compare", "publish", "preview", "try", "usage", f"versions/{draft_id}")
    pending = [
        "/studio/",
        f"/studio/search/?q={DRAFT_WORDS[:-1]}",
        f"/studio/versioning/agent/?q={DRAFT_WORDS[:-1]}",
        "/studio/versioning/agent/?state=not_live",
        "/studio/versioning/agent/only-a-draft/change/",
        *(f"{agent}/{view}/" for view in views),
    ]
    while pending:
        address = pending.pop()
        if address in seen:
            continue
        seen.add(address)
        answer = vera.get(address)
        for hidden in (DRAFT_WORDS, draft_id, "only-a-draft"):
            assert hidden not in answer.markup or hidden in address, address
        pending += links_of(answer.markup, address)
    assert f"{agent}/change/" in seen and len(seen) > 2 * len(views)


def links_of(text: str, address: str) -> list[str]:
    """Return the links within the studio, except those that only sort or filter."""
    links = [link for link in re.findall(r"<a\s[^>]*>", text) if " download" not in link]
    found = [
        urljoin(HERE + address, unescape(one))
        for link in links
        for one in re.findall(r'href="([^"]*)"', link)
    ]
    inside = [quote(link.removeprefix(HERE), safe="/%?=&#") for link in found if link.startswith(HERE)]
    return [link for link in inside if urlsplit(link).path.startswith("/studio/") and not {*"?#"} & {*link}]
