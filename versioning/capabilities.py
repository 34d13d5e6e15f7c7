"""A capability is a Django application that declares its additions: `class ReviewConfig(EditorApp)`.

The values are dotted paths, so that the configuration imports no models. They are loaded once, when the
models are ready, and passed to the part of the editor that uses them. A path that does not exist, or leads to
the wrong type, prevents the start. This is the only module that imports by a string.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Final

from django.apps import AppConfig, apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

Paths = str | Sequence[str]
"""One dotted path or several. Each names an object, or a list of them."""

_RECEIVERS: Final[Mapping[str, str]] = {
    "settings": "versioning.conf.declare",
    "events": "versioning.domain.events.declare",
    "checks": "versioning.editor.gate.register",
    "selectors": "versioning.serving.overlays.register",
    "choice": "versioning.serving.choice.register",
    "keeps_versions": "versioning.editor.pins.register",
    "keeps_workspaces": "versioning.models.workspaces.register_owned",
    "follows": "versioning.models.followers.register",
    "log_readers": "versioning.models.events.register_reader",
    "filters": "versioning.editor.catalog.filters.register",
    "personal_data": "versioning.models.personal_data.register",
    "key_limits": "versioning.models.keys.register_owner_limit",
    "ends_with_keys": "versioning.models.keys.register_follower",
    "confirms": "versioning.api.authentication.register_confirmation",
    "jobs": "versioning.worker.jobs.register",
    "runs": "versioning.runtime.observing.register",
    "notifications": "versioning.editor.notifications.register",
    "topics": "versioning.editor.notifications.register_topic",
    "error_members": "versioning.api.schemas.register_error_members",
    "system_checks": "django.core.checks.register",
    "studio": "studio.extensions.register",
}
"""The functions that receive the values of each attribute of an `EditorApp`."""

OPTIONAL: Final[Mapping[str, Sequence[str]]] = {
    "capabilities.accounts": ("keys", "me", "people", "service-accounts", "workspaces"),
    "capabilities.delivery": ("events/stream", "webhooks"),
    "capabilities.evaluation": (
        "datasets",
        "experiments",
        "gates",
        "labels",
        "scores",
        "scoring",
        "stored/scorers",
    ),
    "capabilities.rollouts": ("feedback", "rollouts", "usage"),
    "capabilities.releases": ("releases",),
    "capabilities.review": ("comments", "review_policy", "reviews"),
    "capabilities.schedules": ("schedules",),
}
"""Optional applications: the prefixes of their addresses and the names of their verbs."""


class EditorApp(AppConfig):
    """The configuration of an application that adds a capability to the editor; everything is optional."""

    default = False
    """Django uses the only configuration in `apps.py` with `default`: the subclass, which imports this class.
    """
    default_auto_field = "django.db.models.BigAutoField"

    needs: Paths = ()
    """The applications that it requires."""
    settings: Paths = ()
    """The settings that it reads, with their defaults: `versioning.conf.Setting`."""
    events: Paths = ()
    """The types of events that it records: `versioning.domain.events.EventSubject`."""
    checks: Paths = ()
    """Its checks at the gate, with their options: `versioning.editor.gate.Check`."""
    selectors: Paths = ()
    """Selectors of the future live state: `versioning.serving.overlays.OverlaySelector`."""
    choice: Paths = ()
    """The choice of the version to serve as published: `versioning.serving.choice.Chooser`."""
    keeps_versions: Paths = ()
    """Versions that must not be pruned or deleted: `versioning.editor.pins.KeptVersions`."""
    keeps_workspaces: Paths = ()
    """Models with a `workspace`, which is not deleted while it has rows of them."""
    follows: Paths = ()
    """Callbacks when something is saved or deleted: `versioning.models.followers.Follower`."""
    log_readers: Paths = ()
    """Functions that return the application's position in the log; later events are not pruned."""
    filters: Paths = ()
    """Filters of the lists of resources: `versioning.editor.catalog.filters.Filter`."""
    jobs: Paths = ()
    """The jobs of workers: `versioning.worker.jobs.Periodic` or `Queue`."""
    runs: Paths = ()
    """Observers of all runs: `versioning.runtime.observing.Observer`."""
    personal_data: Paths = ()
    """Its personal data, erased with a person: `versioning.models.personal_data.PersonalData`."""
    api: str = ""
    """The module whose `urlpatterns` are added to the API."""
    key_limits: Paths = ()
    """Functions that return when the owner of an API key expires, if at all."""
    ends_with_keys: Paths = ()
    """Its reactions to the revocation of an API key, by name: `versioning.models.keys.KeyFollower`."""
    confirms: Paths = ()
    """Functions that take Django's request and raise if a signed-in person without a key has to confirm their
    identity before administering through the API.
    """
    error_members: Paths = ()
    """Schemas whose members errors of the API may have: `versioning.api.schemas.ResponseSchema`."""
    verbs: Mapping[str, str] = MappingProxyType({})
    """Classes that are called with the editor and become its attributes, by name."""
    notifications: Paths = ()
    """Rules that determine which events concern a person: `versioning.editor.notifications.NotificationRule`.
    """
    topics: Paths = ()
    """Notifications that people can turn off or receive by mail:
    `versioning.editor.notifications.NotificationTopic`.
    """
    system_checks: Paths = ()
    """Checks of `manage.py check`."""
    studio: Paths = ()
    """Its extensions of the studio, if that is installed: `studio.extensions.Extension`."""
    adds: Mapping[str, Paths] = MappingProxyType({})
    """Additions to another application, by the path of the function that receives them."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.default = True

    def import_models(self) -> None:
        """Import the models, which may use models of the applications in `needs`.

        Raises `ImproperlyConfigured` if one of these is missing, and for an attribute that declares nothing.
        """
        for name in _paths(self.needs):
            if not apps.is_installed(name):
                raise self._wrong("needs", name, "it is not in INSTALLED_APPS")
        attributes = {"name", "label", "verbose_name", "path", *dir(EditorApp)}
        own = [base for base in type(self).__mro__ if issubclass(base, EditorApp) and base is not EditorApp]
        for name, value in [member for base in own for member in vars(base).items()]:
            if name not in attributes and not name.startswith("_") and _is_text(value):
                alike = get_close_matches(name, [*_RECEIVERS, "needs", "api", "verbs", "adds"], n=1)
                hint = f", did you mean {alike[0]!r}?" if alike else ""
                raise self._wrong(name, value, f"an EditorApp has no such attribute{hint}")
        super().import_models()

    def ready(self) -> None:
        """Load the declarations of the application, and pass them on.

        Raises `ImproperlyConfigured` for a path that does not exist or leads to the wrong type.
        """
        for attribute, receiver in _RECEIVERS.items():
            if attribute != "studio" or apps.is_installed("studio"):
                for path in _paths(getattr(self, attribute)):
                    self._hand_over(attribute, path, receiver)
        for receiver, added in self.adds.items():
            for path in _paths(added):
                self._hand_over("adds", path, receiver)
        for path in self.verbs.values():
            if not callable(self._load("verbs", path)):
                raise self._wrong("verbs", path, "it cannot be called")

    def _hand_over(self, attribute: str, path: str, receiver: str) -> None:
        value = self._load(attribute, path)
        take: Any = import_string(receiver)
        for entry in value if type(value) in {list, tuple} else [value]:
            try:
                take(entry)
            except (TypeError, ValueError) as error:
                raise self._wrong(attribute, path, str(error)) from error

    def _load(self, attribute: str, path: str) -> Any:
        try:
            return import_string(path)
        except ImportError as error:
            raise self._wrong(attribute, path, str(error)) from error

    def _wrong(self, attribute: str, path: object, why: str) -> ImproperlyConfigured:
        return ImproperlyConfigured(f"The application {self.name} declares {attribute} = {path!r}: {why}")


def routes() -> Iterator[Any]:
    """Yield the routes that applications add to the API, in order."""
    for app in list_installed():
        if app.api:
            yield from import_module(app.api).urlpatterns


def verbs(name: str) -> Any:
    """Return the class of the verbs that an application adds under this name, or None."""
    path = next((app.verbs[name] for app in list_installed() if name in app.verbs), None)
    return None if path is None else import_string(path)


def name_of_verbs(verbs: type) -> str:
    """Return the editor's attribute for a class of verbs that an application declares.

    Raises `LookupError` if no installed application declares the class.
    """
    for app in list_installed():
        for name, path in app.verbs.items():
            if import_string(path) is verbs:
                return name
    raise LookupError(f"No installed application declares the verbs {verbs.__qualname__}.")


def list_installed() -> Iterator[EditorApp]:
    """Yield the configurations of the installed capabilities."""
    return (app for app in apps.get_app_configs() if isinstance(app, EditorApp))


def left_out(name: str) -> str | None:
    """Return the application with this address or these verbs if it is not in INSTALLED_APPS."""
    matches = (
        app for app, names in OPTIONAL.items() if any(f"{name}/".startswith(f"{prefix}/") for prefix in names)
    )
    app = next(matches, None)
    return None if app is None or apps.is_installed(app) or find_spec(app) is None else app


def session_store() -> Any:
    """Return the Django session class that the settings name."""
    return import_string(f"{settings.SESSION_ENGINE}.SessionStore")


def _is_text(value: object) -> bool:
    """Return whether the value of an attribute may be meant as a declaration: a text, or dotted paths."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(entry, str) and "." in entry for entry in value)
    return isinstance(value, str)


def _paths(value: Paths) -> Sequence[str]:
    return [value] if isinstance(value, str) else value
