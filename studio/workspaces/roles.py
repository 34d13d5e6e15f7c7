"""The roles, in the language of the page."""

from __future__ import annotations

from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from versioning.domain.access import Role

NAMES: Final[dict[str, Promise]] = {
    Role.VIEWER.value: _("viewer"),
    Role.EDITOR.value: _("editor"),
    Role.PUBLISHER.value: _("publisher"),
    Role.ADMIN.value: _("admin"),
}
"""The names of the roles for use in a sentence."""
CHOICES: Final[list[tuple[str, Promise]]] = [
    (Role.VIEWER.value, _("Viewer: uses what is published")),
    (Role.EDITOR.value, _("Editor: also saves drafts")),
    (Role.PUBLISHER.value, _("Publisher: also publishes")),
    (Role.ADMIN.value, _("Admin: also members and keys")),
]
"""The roles with what they allow, for forms."""


def role_name(role: str | None) -> str:
    """Return the name of a role; for a key without one, that the owner's role counts."""
    return str(NAMES[role]) if role is not None else str(_("as its owner"))
