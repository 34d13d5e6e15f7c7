"""The service accounts of a workspace in the studio: accounts of programs, without sign-in."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

from django import forms
from django.contrib.admin.utils import unquote
from django.db.models import Count, QuerySet
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from studio.pages import ActionPage, FormPage
from studio.workspaces.names import CHOICES
from studio.workspaces.views import WorkspacePage
from versioning.domain.access import Role
from versioning.domain.errors import NotFound
from versioning.models import ApiKey, Membership
from versioning.models.invitations import MAX_NAME as MAX_USERNAME

PER_PAGE: Final = 50


class ServiceAccountForm(forms.Form):
    username = forms.CharField(
        label=gettext_lazy("User name"),
        max_length=MAX_USERNAME,
        help_text=gettext_lazy(
            "Shown in the history and the activity, for example deploy-bot. It cannot be changed later."
        ),
    )
    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=CHOICES, initial=Role.VIEWER.value)


class ServiceAccountsPage(FormPage, WorkspacePage):
    asks_password_again = True
    tab = "service_accounts"
    form_class = ServiceAccountForm
    template = "company/service_accounts.html"
    title = gettext_lazy("Service accounts")
    id_field = "username"

    def save(self, form: ServiceAccountForm) -> HttpResponse:
        name, role = form.cleaned_data["username"], Role(form.cleaned_data["role"])
        self.verbs.create_service_account(self.workspace_id, name, role, by=self.caller)
        return self.go(self.address(self.tab), _("Service account %(name)s created.") % {"name": name})

    def context(self) -> dict[str, Any]:
        rows = memberships(self)
        page = self.paginate(rows, PER_PAGE)
        owners = [membership.user_id for membership in page.object_list]
        keys = ApiKey.objects.filter(owner__in=owners, revoked_at=None)
        counts = dict(keys.values_list("owner").annotate(Count("pk")))
        return {
            "page": page,
            "rows": [(membership, counts.get(membership.user_id, 0)) for membership in page.object_list],
            "keys_address": self.address("keys"),
        }


class DeleteServiceAccountPage(ActionPage, WorkspacePage):
    """Deactivates a service account and its keys."""

    asks_password_again = True
    tab = "service_accounts"
    template = "company/delete_service_account.html"
    back_page = "service_accounts"

    @cached_property
    def username(self) -> str:
        """The name of the service account; raises `NotFound` if the workspace has none of this name."""
        name = unquote(self.kwargs["member"])
        if name not in {membership.user.get_username() for membership in memberships(self)}:
            raise NotFound
        return name

    @property
    def title(self) -> str:
        return _("Delete %(name)s?") % {"name": self.username}

    def context(self) -> dict[str, str]:
        return {"username": self.username}

    def act(self) -> str:
        self.verbs.delete_service_account(self.username, by=self.caller)
        return _("Service account %(name)s deleted.") % {"name": self.username}


def memberships(page: WorkspacePage) -> QuerySet[Membership]:
    """Return the memberships of the service accounts of the workspace; raises `Forbidden`."""
    workspace = page.verbs.find(page.workspace_id, by=page.caller)
    return page.verbs.service_accounts(by=page.caller).filter(workspace=workspace)
