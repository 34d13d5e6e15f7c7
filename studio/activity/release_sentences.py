"""What became of releases, as sentences. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from studio.activity.names import Names
from studio.activity.parts import Said
from versioning.models import Event

_SENTENCES: Final[Mapping[str, tuple[Promise, Promise]]] = {
    "release.created": (_("{who} made the release {release}"), _("{who} made a release")),
    "release.changed": (_("{who} changed the release {release}"), _("{who} changed a release")),
    "release.published": (_("{who} published the release {release}"), _("{who} published a release")),
    "release.reverted": (_("{who} reverted the release {release}"), _("{who} reverted a release")),
    "release.deleted": (_("{who} deleted the release {release}"), _("{who} deleted a release")),
}
"""By type: the sentence that names the release, and the one for a release that is not there any more."""


def _of_release(event: Event, names: Names) -> Said:
    """Return the sentence about an event of a release."""
    with_name, without = _SENTENCES[event.type]
    release = names.named.get((event.position, event.ordinal))
    return Said(str(without)) if release is None else Said(str(with_name), {"release": release})


OF_RELEASES: Final[Mapping[str, Callable[[Event, Names], Said]]] = dict.fromkeys(_SENTENCES, _of_release)
