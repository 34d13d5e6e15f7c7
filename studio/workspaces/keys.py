"""The pages about API keys: those of a workspace, and unlimited ones."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from studio import shown_once
from studio.dates import current_zone, day_in_words, day_of, moment_in_words, time_element
from studio.workspaces.names import CHOICES, role_name
from studio.workspaces.views import (
    LAST_DAY,
    ROUTE,
    AdministrationPage,
    DayField,
    WorkspacePage,
    add_errors,
    address,
    end_of,
)
from versioning.domain.access import Action, Right, Role
from versioning.domain.errors import Forbidden, Invalid, NotFound
from versioning.editor.keys import may_revoke
from versioning.models import ApiKey, Workspace

PER_PAGE: Final = 50
ACTIONS: Final = {
    Action.READ: gettext_lazy("reading"),
    Action.RUN: gettext_lazy("running agents"),
    Action.WRITE: gettext_lazy("saving and reviewing"),
    Action.PUBLISH: gettext_lazy("publishing"),
    Action.ADMIN: gettext_lazy("administering"),
}


class KeyForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Name"),
        help_text=gettext_lazy("What it is for, such as the program that uses it."),
    )
    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=CHOICES, initial=Role.VIEWER.value)
    actions = forms.MultipleChoiceField(
        label=gettext_lazy("Only for"),
        required=False,
        choices=list(ACTIONS.items()),
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy(
            "If you choose none, the key may do everything that its role allows. A key for administering, "
            "even for that alone, can invite people with any role, who may then do more than the key."
        ),
    )
    id_prefix = forms.CharField(
        label=gettext_lazy("Only ids that begin with"),
        required=False,
        help_text=gettext_lazy(
            "Such as team/. Other agents and prompt blocks do not exist for the key. If you leave it empty, "
            "all do."
        ),
    )
    owner = forms.ChoiceField(
        label=gettext_lazy("Owner"),
        required=False,
        help_text=gettext_lazy("In whose name it acts: yours, or that of a service account."),
    )
    last_day = DayField(
        label=gettext_lazy("Last day"),
    )

    def __init__(self, *args: Any, service_accounts: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if service_accounts:
            owners: Any = self.fields["owner"]
            owners.choices = [("", _("You")), *((name, name) for name in service_accounts)]
        else:
            del self.fields["owner"]
        message = _(
            "It expires at the end of this day (%(zone)s). If you leave this empty, it never expires."
        )
        self.fields["last_day"].help_text = message % {"zone": current_zone()}

    @property
    def expires_at(self) -> datetime.datetime | None:
        day: datetime.date | None = self.cleaned_data["last_day"]
        return None if day is None else end_of(day)


@dataclass(frozen=True, kw_only=True)
class KeyRow:
    key: ApiKey
    role: str
    is_expired: bool
    limits: str = ""
    """What it is limited to besides its role; empty if nothing."""
    reaches: Sequence[tuple[str, str]] = ()
    """The workspaces that it reaches and the caller administers: (name, address of their keys)."""
    revoke_address: str = ""
    """The address to revoke it; empty if the caller cannot."""

    @property
    def expiry(self) -> SafeString:
        """When it expires, as HTML; the last day where it is valid until the end of one. Empty for never."""
        at = self.key.expires_at
        if at is None:
            return SafeString()
        last_day = day_of(at - datetime.timedelta(microseconds=1))
        if last_day > LAST_DAY or end_of(last_day) != at:
            return time_element(at, moment_in_words(at))
        return time_element(at, _("end of %(day)s") % {"day": day_in_words(last_day)})


def row_of(key: ApiKey, reach: Sequence[Workspace], revocable_in: str, now: datetime.datetime) -> KeyRow:
    """Return a key as a list shows it; `revocable_in` is the workspace in which the caller may revoke it."""
    may_end = bool(revocable_in) and key.revoked_at is None
    return KeyRow(
        key=key,
        role=role_name(key.role),
        limits=limits_of(key),
        is_expired=key.expires_at is not None and key.expires_at <= now,
        reaches=[(workspace.name, address("keys", workspace.pk)) for workspace in reach],
        revoke_address=address("revoke", revocable_in, key.prefix) if may_end else "",
    )


def limits_of(key: ApiKey) -> str:
    """Return in words what a key is limited to besides its role; empty if nothing."""
    named = [str(ACTIONS.get(Action(action), action)) for action in key.actions or ()]
    prefix = _("only %(prefix)s…") % {"prefix": key.id_prefix} if key.id_prefix else ""
    return " · ".join(filter(None, (", ".join(named), prefix)))


class KeysPage(WorkspacePage):
    """The keys of a workspace, of which only the prefix is stored in plain text."""

    asks_password_again = True
    tab = "keys"

    def get(self, request: HttpRequest, workspace: str) -> HttpResponse:
        self.verbs.find(self.workspace_id, by=self.caller)
        return self.show(self._form(), made=shown_once.shown_now(request, self._waiting))

    def post(self, request: HttpRequest, workspace: str) -> HttpResponse:
        self.verbs.find(self.workspace_id, by=self.caller)
        form = self._form(request.POST)
        if not form.is_valid():
            return self.show(form, status=400)
        try:
            key, text = self.editor.key.issue(
                workspace_id=self.workspace_id,
                name=form.cleaned_data["name"],
                role=Role(form.cleaned_data["role"]),
                actions=[Action(action) for action in form.cleaned_data["actions"]] or None,
                id_prefix=form.cleaned_data["id_prefix"] or None,
                owner=form.cleaned_data.get("owner") or None,
                expires_at=form.expires_at,
                by=self.caller,
            )
        except Invalid as error:
            add_errors(form, error, expiresAt="last_day", idPrefix="id_prefix")
            return self.show(form, status=400)
        response = self.go(self.address("keys"))
        shown_once.show_next(request, response, self._waiting, {"name": key.name, "text": text})
        return response

    def _form(self, *args: Any) -> KeyForm:
        robots = self.verbs.service_accounts(by=self.caller).filter(workspace=self.workspace_id)
        initial = {"owner": self.request.GET.get("owner", "")}
        return KeyForm(
            *args, initial=initial, service_accounts=[robot.user.get_username() for robot in robots]
        )

    @property
    def _waiting(self) -> str:
        return f"key of {self.workspace_id}"

    def show(self, form: forms.Form, *, status: int = 200, **context: Any) -> HttpResponse:
        reaching = self.editor.key.of_workspace(self.workspace_id, by=self.caller)
        page: Page[ApiKey] = Paginator(reaching.filter(workspace=self.workspace_id), PER_PAGE).get_page(
            self.request.GET.get("page")
        )
        now = timezone.now()
        return self.page(
            "studio/workspaces/keys.html",
            title=_("API keys"),
            status=status,
            form=form,
            page=page,
            rows=[
                row_of(key, (), self.workspace_id if may_revoke(key, self.caller) else "", now)
                for key in page.object_list
            ],
            unlimited=reaching.filter(workspace=None).count(),
            unlimited_address=reverse(f"{ROUTE}unlimited_keys"),
            keys_address=self.address("keys"),
            **context,
        )


class UnlimitedKeysPage(AdministrationPage):
    """The keys that reach every workspace of their owner, without duplicates."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the unlimited keys of members of the workspaces that the caller administers."""
        scope = self.caller.scope(Right.ADMINISTER)
        if scope is not None and not scope:
            raise Forbidden(_("You may not administer any workspace."))
        found = self.editor.key.unlimited(by=self.caller)
        page: Page[ApiKey] = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
        keys = list(page.object_list)
        reach, now = self.editor.key.reach(keys, by=self.caller), timezone.now()
        return self.page(
            "studio/workspaces/unlimited_keys.html",
            title=_("Keys that reach several workspaces"),
            page=page,
            rows=[row_of(key, reach[key.pk], self._revocable_in(key, reach[key.pk]), now) for key in keys],
            list_address=reverse(f"{ROUTE}changelist"),
        )

    def _revocable_in(self, key: ApiKey, reach: Sequence[Workspace]) -> str:
        return reach[0].pk if reach and may_revoke(key, self.caller) else ""


class RevokePage(WorkspacePage):
    asks_password_again = True
    tab = "keys"

    def get(self, request: HttpRequest, workspace: str, prefix: str) -> HttpResponse:
        found = self.editor.key.of_workspace(self.workspace_id, by=self.caller)
        key = next((key for key in found if key.prefix == prefix), None)
        if key is None:
            raise NotFound
        return self.page(
            "studio/workspaces/revoke.html",
            title=_("Revoke %(key)s?") % {"key": key.name or key.prefix},
            key=key,
            keys_address=self._list_of(key),
        )

    def post(self, request: HttpRequest, workspace: str, prefix: str) -> HttpResponse:
        key = self.editor.key.revoke(prefix, by=self.caller)
        said = _("The key %(key)s is revoked.") % {"key": f"{key.prefix}…"}
        if ended := sum(map(len, key.ended.values())):
            what = ngettext(
                "%(count)s schedule made with this key has failed.",
                "%(count)s schedules made with this key have failed.",
                ended,
            )
            said = f"{said} {what % {'count': ended}}"
        return self.go(self._list_of(key), said)

    def _list_of(self, key: ApiKey) -> str:
        return self.address("keys") if key.workspace_id else reverse(f"{ROUTE}unlimited_keys")
