"""Comments by the methods of both clients."""

from __future__ import annotations

from typing import Any

import pytest
from editor_client import NotFound, ValidationFailed

from tests.support.clients import with_both_clients

pytestmark = pytest.mark.processes


@with_both_clients
def test_comments_are_written_resolved_and_deleted(client: Any, new_id: str) -> None:
    made = client.create_stored_prompt_block(id=new_id, name="Tone", content="Be kind.\nBe brief.")
    about = ("promptBlock", new_id, made.latest_version_id)
    first = client.create_comment(*about, body="How brief?", field="content", line=2)
    assert (first.resource.id, first.version_number, first.quote) == (new_id, 1, "Be brief.")
    reply = client.create_comment(*about, body="One sentence.", parent=first.id)
    assert (reply.parent, reply.author, reply.resolved) == (first.id, first.author, False)
    comment = client.get_comment(first.id)
    assert comment.update(body="How brief exactly?").body == "How brief exactly?"
    assert comment.update(resolved=True).resolved_by == first.author
    assert client.get_comment(reply.id).details().resolved
    of_it = {"kind": "promptBlock", "id": new_id}
    assert client.list_comments(resolved=False, **of_it).comments == ()
    listed = client.list_comments(version_id=made.latest_version_id, resolved=True).comments
    assert [one.id for one in listed] == [first.id, reply.id]
    walked = client.iter_comments(per_page=1, **of_it)
    assert [one.body for one in walked] == ["How brief exactly?", "One sentence."]
    assert comment.delete().success
    with pytest.raises(NotFound):
        comment.details()
    with pytest.raises(ValidationFailed) as refused:
        client.create_comment(*about, body="Where?", field="instructions")
    assert [issue.field for issue in refused.value.issues] == ["field"]
