"""The service accounts of a workspace in the studio: accounts of programs, which nobody signs in to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django import forms
from django.contrib.admin.utils import quote, unquote
from django.core.paginator import Page, Paginator
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from studio.translation import translated
from studio.workspaces.names import CHOICES, role_name
from studio.workspaces.views import WorkspacePage, add_errors
from versioning.domain.access import Role
from versioning.domain.errors import IdTaken, Invalid, NotFound
from versioning.models import ApiKey, Membership

PER_PAGE: Final = 50


class ServiceAccountForm(forms.Form):
    username = forms.CharField(
        label=gettext_lazy("User name"),
        max_length=150,
        help_text=gettext_lazy(
            "Shown in the history and the activity, for example deploy-bot. It cannot be changed later."
        ),
    )
    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=CHOICES, initial=Role.VIEWER.value)


@dataclass(frozen=True, kw_only=True)
class Row:
    membership: Membership
    role: str
    keys: int
    """How many of its keys are not revoked."""
    key_address: str
    delete_address: str


class ServiceAccountsPage(WorkspacePage):
    """The service accounts of the workspace, and a form for another one."""

    asks_password_again = True
    tab = "service_accounts"

    def get(self, request: HttpRequest, workspace: str) -> HttpResponse:
        return self.show(ServiceAccountForm())

    def post(self, request: HttpRequest, workspace: str) -> HttpResponse:
        form = ServiceAccountForm(request.POST)
        if not form.is_valid():
            return self.show(form, status=400)
        name, role = form.cleaned_data["username"], Role(form.cleaned_data["role"])
        try:
            self.verbs.create_service_account(self.workspace_id, name, role, by=self.caller)
        except Invalid as error:
            add_errors(form, error)
            return self.show(form, status=400)
        except IdTaken as error:
            form.add_error("username", translated(error.message))
            return self.show(form, status=409)
        return self.go(self.address(self.tab), _("Service account %(name)s created.") % {"name": name})

    def rows(self) -> QuerySet[Membership]:
        """Return the memberships of the service accounts of the workspace; raises `Forbidden`."""
        workspace = self.verbs.find(self.workspace_id, by=self.caller)
        return self.verbs.service_accounts(by=self.caller).filter(workspace=workspace)

    def show(self, form: forms.Form, *, status: int = 200) -> HttpResponse:
        page: Page[Membership] = Paginator(self.rows(), PER_PAGE).get_page(self.request.GET.get("page"))
        keys = ApiKey.objects.filter(
            owner__in=[membership.user_id for membership in page.object_list], revoked_at=None
        )
        counted = dict(keys.values_list("owner").annotate(Count("pk")))
        return self.page(
            "company/service_accounts.html",
            title=_("Service accounts"),
            status=status,
            form=form,
            page=page,
            rows=[
                Row(
                    membership=membership,
                    role=role_name(membership.role),
                    keys=counted.get(membership.user_id, 0),
                    key_address=self.address("keys")
                    + "?"
                    + urlencode({"owner": membership.user.get_username()}),
                    delete_address=self.address(
                        "service_account_delete", quote(membership.user.get_username())
                    ),
                )
                for membership in page.object_list
            ],
        )


class DeleteServiceAccountPage(ServiceAccountsPage):
    def setup(self, request: HttpRequest, *args: str, **kwargs: str) -> None:
        super().setup(request, *args, **kwargs)
        self.username = unquote(kwargs["member"])

    def get(self, request: HttpRequest, workspace: str, member: str = "") -> HttpResponse:
        self._require()
        return self.page(
            "company/delete_service_account.html",
            title=_("Delete %(name)s?") % {"name": self.username},
            username=self.username,
            list_of_accounts=self.address(self.tab),
        )

    def post(self, request: HttpRequest, workspace: str, member: str = "") -> HttpResponse:
        self._require()
        self.verbs.delete_service_account(self.username, by=self.caller)
        message = _("Service account %(name)s deleted.") % {"name": self.username}
        return self.go(self.address(self.tab), message)

    def _require(self) -> None:
        names = {row.user.get_username() for row in self.rows()}
        if self.username not in names:
            raise NotFound
