"""The pages about API keys: those of a workspace, and unlimited ones."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from studio import one_time_secrets
from studio.dates import current_zone, day_in_words, day_of, moment_in_words, time_element
from studio.pages import ActionPage, FormPage
from studio.workspaces.names import CHOICES
from studio.workspaces.views import (
    LAST_DAY,
    ROUTE,
    AdministrationPage,
    DayField,
    WorkspacePage,
    end_of,
)
from versioning.domain.access import Action, Right, Role
from versioning.domain.errors import Forbidden, NotFound
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
    reaches: Sequence[Workspace] = ()
    revocable_in: str = ""
    """The workspace in which the caller may revoke it; empty if the caller cannot."""

    @property
    def is_expired(self) -> bool:
        return self.key.expires_at is not None and self.key.expires_at <= timezone.now()

    @property
    def limits(self) -> str:
        """Its limits besides its role; empty if none."""
        actions = [str(ACTIONS.get(Action(action), action)) for action in self.key.actions or ()]
        prefix = _("only %(prefix)s…") % {"prefix": self.key.id_prefix} if self.key.id_prefix else ""
        return " · ".join(filter(None, (", ".join(actions), prefix)))

    @property
    def expiry(self) -> SafeString:
        """The expiry as HTML; the last day if it is valid until the end of a day. Empty for never."""
        at = self.key.expires_at
        if at is None:
            return SafeString()
        last_day = day_of(at - datetime.timedelta(microseconds=1))
        if last_day > LAST_DAY or end_of(last_day) != at:
            return time_element(at, moment_in_words(at))
        return time_element(at, _("end of %(day)s") % {"day": day_in_words(last_day)})


class KeysPage(FormPage, WorkspacePage):
    """The keys of a workspace, of which only the prefix is stored in plain text."""

    asks_password_again = True
    tab = "keys"
    template = "studio/workspaces/keys.html"
    title = gettext_lazy("API keys")
    error_fields = {"expiresAt": "last_day"}

    def get(self, request: HttpRequest, **ids: str) -> HttpResponse:
        """Show them and, once, the text of a key that was just created."""
        return self.show(self.form(), made=one_time_secrets.shown_now(request, f"key of {self.workspace_id}"))

    def save(self, form: KeyForm) -> HttpResponse:
        """Create a key, and go back to the list, which shows its text once."""
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
        response, secret = self.go(self.address("keys")), {"name": key.name, "text": text}
        one_time_secrets.show_next(self.request, response, f"key of {self.workspace_id}", secret)
        return response

    def form(self, data: Any = None) -> KeyForm:
        self.verbs.find(self.workspace_id, by=self.caller)
        accounts = self.verbs.service_accounts(by=self.caller).filter(workspace=self.workspace_id)
        names = [account.user.get_username() for account in accounts]
        return KeyForm(data, initial={"owner": self.request.GET.get("owner", "")}, service_accounts=names)

    def context(self) -> dict[str, Any]:
        reaching = self.editor.key.of_workspace(self.workspace_id, by=self.caller)
        keys = reaching.filter(workspace=self.workspace_id)
        page = self.paginate(keys, PER_PAGE)
        return {
            "page": page,
            "rows": [
                KeyRow(key=key, revocable_in=self.workspace_id if may_revoke(key, self.caller) else "")
                for key in page.object_list
            ],
            "unlimited": reaching.filter(workspace=None).count(),
            "unlimited_address": reverse(f"{ROUTE}unlimited_keys"),
            "keys_address": self.address("keys"),
        }


class UnlimitedKeysPage(AdministrationPage):
    """The unlimited keys of members of the workspaces that the caller administers, without duplicates."""

    def get(self, request: HttpRequest) -> HttpResponse:
        scope = self.caller.scope(Right.ADMINISTER)
        if scope is not None and not scope:
            raise Forbidden(_("You may not administer any workspace."))
        unlimited = self.editor.key.list_unlimited(by=self.caller)
        page = self.paginate(unlimited, PER_PAGE)
        rows, reach = [], self.editor.key.reach(list(page.object_list), by=self.caller)
        for key in page.object_list:
            workspaces = reach[key.pk]
            revocable_in = workspaces[0].pk if workspaces and may_revoke(key, self.caller) else ""
            rows.append(KeyRow(key=key, reaches=workspaces, revocable_in=revocable_in))
        return self.page(
            "studio/workspaces/unlimited_keys.html",
            title=_("Keys that reach several workspaces"),
            page=page,
            rows=rows,
            list_address=reverse(f"{ROUTE}changelist"),
        )


class RevokePage(ActionPage, WorkspacePage):
    asks_password_again = True
    tab = "keys"
    template = "studio/workspaces/revoke.html"

    @cached_property
    def key(self) -> ApiKey:
        keys = self.editor.key.of_workspace(self.workspace_id, by=self.caller)
        key = next((key for key in keys if key.prefix == self.kwargs["prefix"]), None)
        if key is None:
            raise NotFound
        return key

    @property
    def title(self) -> str:
        return _("Revoke %(key)s?") % {"key": self.key.name or self.key.prefix}

    @property
    def back_address(self) -> str:
        return self.address("keys") if self.key.workspace_id else reverse(f"{ROUTE}unlimited_keys")

    def context(self) -> dict[str, Any]:
        return {"key": self.key}

    def act(self) -> str:
        self.key = self.editor.key.revoke(self.kwargs["prefix"], by=self.caller)
        message = _("The key %(key)s is revoked.") % {"key": f"{self.key.prefix}…"}
        ended = sum(map(len, self.key.ended.values()))
        if not ended:
            return message
        failed = ngettext(
            "%(count)s schedule made with this key has failed.",
            "%(count)s schedules made with this key have failed.",
            ended,
        )
        return f"{message} {failed % {'count': ended}}"
