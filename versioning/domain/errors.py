"""The errors of the domain.

Each has a sentence for people and a stable `code` for programs. They are independent of HTTP: only
`versioning.api.errors` maps them to a status. The base class and `Invalid` come from the package that is
shared with the client; the others are raised by the service only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from editor_client.shared.errors import MAX_ISSUES, Invalid, Issue, Message, VersioningError

__all__ = [
    "MAX_ISSUES",
    "Conflict",
    "CursorAhead",
    "CursorExpired",
    "EditConflict",
    "Forbidden",
    "IdTaken",
    "InUse",
    "Invalid",
    "Issue",
    "KeyScope",
    "Message",
    "NoInstructions",
    "NotFound",
    "PartsUnavailable",
    "Quoted",
    "ResourceId",
    "Unauthorized",
    "Usernames",
    "VersioningError",
    "WorkspaceId",
]


class Usernames(str):
    """People in a message: their user names for programs; the studio shows the people themselves."""

    __slots__ = ("names",)

    names: tuple[str, ...]

    def __new__(cls, names: Iterable[str]) -> Self:
        all_names = tuple(names)
        text = super().__new__(cls, ", ".join(all_names))
        text.names = all_names
        return text


class Quoted(str):
    """Names in a message: in Python's quotation marks for programs; the studio uses those of the language."""

    __slots__ = ("names",)

    names: tuple[str, ...]

    def __new__(cls, names: Iterable[str]) -> Self:
        all_names = tuple(names)
        text = super().__new__(cls, ", ".join(map(repr, all_names)))
        text.names = all_names
        return text


class ResourceId(str):
    """A resource in a message: its id for programs; the studio shows its name to those who can read it."""

    __slots__ = ("slug",)

    slug: str
    """The slug of its kind."""

    def __new__(cls, slug: str, resource_id: str) -> Self:
        text = super().__new__(cls, resource_id)
        text.slug = slug
        return text


class WorkspaceId(str):
    """A workspace in a message: its id for programs; the studio shows its name to those who can read it."""

    __slots__ = ()


class NotFound(VersioningError):
    """The resource does not exist, or the caller may not read it: deliberately the same error for both."""

    code = "not_found"

    def __init__(
        self, message: str = Message("There is nothing here that you can read."), *, code: str | None = None
    ) -> None:
        super().__init__(message, code=code)


class Unpublished(NotFound):
    """The resource was published and then unpublished, and nothing replaced it."""

    code = "unpublished"

    def __init__(self) -> None:
        super().__init__(Message("It was unpublished: nothing is served until a version is published again."))


class NoSuchAddress(NotFound):
    """The API has no such route."""

    code = "no_such_address"

    def __init__(self, app: str | None = None) -> None:
        """`app` is the application that would have it, if it is not in INSTALLED_APPS."""
        message = "No route of the API has this address. GET /schema, below the prefix of the API, lists all."
        if app is not None:
            message = (
                f"This address belongs to the application {app!r}, which the server's settings do not "
                "include: "
                "add it to INSTALLED_APPS and migrate."
            )
        super().__init__(message)


class NoInstructions(NotFound):
    """An agent leaves its instructions to the editor, and none are published."""

    code = "no_instructions"

    def __init__(self, agent_id: str) -> None:
        super().__init__(
            Message(
                "The agent {id!r} has no instructions: its code leaves them to the editor, and none are "
                "published.",
                id=agent_id,
            )
        )


class Unauthorized(VersioningError):
    """No credentials were given, or they are not valid."""

    code = "unauthorized"


class Forbidden(VersioningError):
    """The caller may read the resource but lacks the right for this action."""

    code = "forbidden"


class KeyScope(Forbidden):
    """The API key is limited to other actions, or to other ids."""

    code = "key_scope"

    def __init__(self, action: str, *, id_prefix: str = "") -> None:
        if id_prefix:
            message = Message(
                "This key is limited to ids that begin with {prefix!r}, so it may not do this: {action}.",
                prefix=id_prefix,
                action=action,
            )
        else:
            message = Message("This key is limited to other actions than this: {action}.", action=action)
        super().__init__(message)
        self.action = action

    def details(self) -> dict[str, Any]:
        return {"action": self.action}


class Conflict(VersioningError):
    """The stored state conflicts with the request; each error has a code that identifies the conflict."""


class TooManyInvitations(Forbidden):
    """A person has invited as many people within an hour as this installation allows."""

    code = "too_many_invitations"

    def __init__(self, limit: int) -> None:
        super().__init__(
            Message("You have sent {limit} invitations within an hour; try again later.", limit=limit)
        )


class IdTaken(Conflict):
    """A resource with this id already exists."""

    code = "id_taken"


class WorkspaceDeleted(Conflict):
    """The workspace was deleted while something was made in it."""

    code = "workspace_deleted"

    def __init__(self) -> None:
        super().__init__("The workspace was deleted in the meantime.")


class InUse(Conflict):
    """It cannot be deleted because something refers to it: a published agent, or rows of an application."""

    code = "in_use"

    def __init__(
        self, message: str, *, dependents: Sequence[Mapping[str, str]] = (), hidden_count: int = 0
    ) -> None:
        super().__init__(message)
        self.dependents = list(dependents)
        self.hidden_count = hidden_count

    def details(self) -> dict[str, Any]:
        return {"dependents": self.dependents, "hiddenCount": self.hidden_count}


class PartsUnavailable(Conflict):
    """An agent has no parts, because clients cannot choose its versions by the request context."""

    code = "parts_unavailable"

    def __init__(self) -> None:
        super().__init__(
            "The version depends on the request context by a rule that only the server knows: read the "
            "agent in its context."
        )


class CursorExpired(VersioningError):
    """Entries of the log after this position have been pruned, so a follower has missed some."""

    code = "cursor_expired"

    def __init__(self, oldest: int) -> None:
        super().__init__(
            Message(
                "Events after this position were pruned; continue from {oldest}, the oldest position.",
                oldest=oldest,
            )
        )
        self.oldest = oldest

    def details(self) -> dict[str, Any]:
        return {"oldest": self.oldest}


class CursorAhead(VersioningError):
    """The position belongs to another log: an earlier state of the database was restored."""

    code = "cursor_ahead"

    def __init__(self, newest: int, epoch: str) -> None:
        super().__init__(
            Message(
                "The log was restored to an earlier state and now ends at {newest}. Treat all your "
                "data as stale and start again.",
                newest=newest,
            )
        )
        self.newest = newest
        self.epoch = epoch

    def details(self) -> dict[str, Any]:
        return {"newest": self.newest, "epoch": self.epoch}


class EditConflict(VersioningError):
    """`If-Match` does not match: the resource was changed since the caller read it."""

    code = "edit_conflict"

    def __init__(self, current: Mapping[str, Any]) -> None:
        super().__init__("The resource has changed since you read it; check its current state and try again.")
        self.current = dict(current)

    def details(self) -> dict[str, Any]:
        return {"current": self.current}
