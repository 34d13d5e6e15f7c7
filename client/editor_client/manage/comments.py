"""Comments on versions."""

from __future__ import annotations

from typing import Self, Unpack

from editor_client.calls import Call, ResourceKind, reading
from editor_client.manage.shapes import (
    CommentArguments,
    CommentChanges,
    CommentFilters,
    CommentPage,
    CommentRecord,
)
from editor_client.methods import ById, D_co, Driver, iterating, method
from editor_client.pages import listing
from editor_client.result import Success, with_json_names


class Comment(ById[D_co, CommentRecord]):
    """A comment, by id."""

    _address, _record = "/comments", CommentRecord

    @method
    def update(self, **changes: Unpack[CommentChanges]) -> Call[CommentRecord]:
        """Resolve or reopen its thread; change the text of one's own comment."""
        return Call.to("PATCH", self._path, self._read, body=with_json_names(changes))

    @method
    def delete(self) -> Call[Success]:
        """Delete one's own comment; replies stay."""
        return Call.to("DELETE", self._path, reading(Success))


class CommentMethods(Driver):
    """The methods of a client for comments."""

    @method
    def list_comments(self, **filters: Unpack[CommentFilters]) -> Call[CommentPage]:
        """List the comments on resources whose drafts the key may read, oldest first."""
        return listing("/comments", CommentPage, filters)

    iter_comments = iterating(list_comments)

    @method
    def create_comment(
        self,
        kind: ResourceKind,
        resource_id: str,
        version_id: str,
        *,
        body: str,
        **place: Unpack[CommentArguments],
    ) -> Call[CommentRecord]:
        """Comment on a version, on a field or a line of it, or reply to a comment."""
        about = {"resource": {"kind": kind, "id": resource_id}, "versionId": version_id, "body": body}
        read = reading(CommentRecord)
        return Call.to("POST", "/comments", read, body={**about, **with_json_names(place)})

    def get_comment(self, comment_id: str) -> Comment[Self]:
        """Return a comment; no request is sent yet."""
        return Comment(self, comment_id)
