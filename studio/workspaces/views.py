"""The pages about workspaces themselves: the list, creating and renaming."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlencode

from django import forms
from django.contrib.admin.utils import quote, unquote
from django.core.validators import MaxValueValidator
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from studio import additions, site
from studio.extensions import WorkspaceTab
from studio.navigation import Link, NavigationRow
from studio.pages import ActionPage, FormPage
from studio.permissions import EditorAdmin
from studio.translation import translate
from studio.views import StudioPage
from studio.workspaces.names import CHOICES, role_name, workspace_choices
from versioning.domain.access import Caller, Right, Role
from versioning.domain.errors import Forbidden, Invalid, Message, Usernames
from versioning.editor import Workspaces
from versioning.editor.workspaces import list_admins, memberships_beyond, with_member_counts, workspaces_with
from versioning.models import WorkerHeartbeat, Workspace
from versioning.models.invitations import MAX_NAME as MAX_USERNAME

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class InviteForm(forms.Form):
    username = forms.CharField(
        label=_("User name"),
        max_length=MAX_USERNAME,
        help_text=_(
            "The user name of an existing or a new account. No one becomes a member before accepting."
        ),
        widget=forms.TextInput({"pick": "person"}),
    )
    role = forms.ChoiceField(label=_("Role"), choices=CHOICES, initial=Role.EDITOR.value)
    mail = forms.EmailField(
        label=_("Mail address"),
        required=False,
        help_text=_("The link is sent there, too; for an account that exists, to its own address otherwise."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not additions.sends_invitations():
            del self.fields["mail"]


class NewWorkspaceForm(forms.Form):
    name = forms.CharField(label=_("Name"), help_text=_("Shown to people."))
    id = forms.CharField(
        label=_("Id"),
        required=False,
        help_text=_(
            "The id that programs use, such as marketing; it cannot be changed later. Leave empty "
            "to generate it from the name."
        ),
    )


FIRST_DAY: Final = datetime.date.min + datetime.timedelta(days=1)
"""The first day that can be represented in every time zone."""
LAST_DAY: Final = datetime.date.max - datetime.timedelta(days=1)
"""The last day whose end can be stored."""


class DayField(forms.DateField):
    def __init__(self, *, label: StrOrPromise, help_text: StrOrPromise = "") -> None:
        super().__init__(
            label=label,
            required=False,
            widget=forms.DateInput(attrs={"type": "date"}),
            help_text=help_text,
            validators=[MaxValueValidator(LAST_DAY, _("Enter a day that is not after %(limit_value)s."))],
        )


def start_of_day(day: datetime.date) -> datetime.datetime:
    within = max(day, FIRST_DAY)
    return datetime.datetime.combine(within, datetime.time(), tzinfo=timezone.get_current_timezone())


def end_of(day: datetime.date) -> datetime.datetime:
    """Return the end time of a day that a `DayField` has accepted."""
    return start_of_day(day + datetime.timedelta(days=1))


ROUTE: Final = "studio:versioning_workspace_"
SETTINGS: Final = (
    WorkspaceTab(page="members", title=_("Members"), is_setting=True),
    WorkspaceTab(page="keys", title=_("API keys"), is_setting=True),
)
ACTIVITY: Final = WorkspaceTab(page="activity", title=_("Activity"), right=Right.READ)


class AdministrationPage(StudioPage):
    @property
    def admin(self) -> EditorAdmin:
        """The `ModelAdmin` that decides about permissions on workspaces."""
        return cast("EditorAdmin", site.get_model_admin(Workspace))

    @property
    def verbs(self) -> Workspaces:
        return self.editor.workspace


class WorkspacePage(AdministrationPage):
    tab = "members"
    right = Right.ADMINISTER
    """The right required to open the page: most are for admins only."""

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().setup(request, *args, **kwargs)
        self.workspace_id = unquote(kwargs["workspace"])

    @property
    def scope(self) -> Mapping[str, str]:
        """The events in the workspace, for `listen`."""
        return {"workspace_id": self.workspace_id}

    @cached_property
    def workspace(self) -> Workspace:
        """The workspace; raises `NotFound` and `Forbidden` for people who cannot open the page."""
        return self.verbs.find(self.workspace_id, right=self.right, by=self.caller)

    def may(self, right: Right) -> bool:
        """Return whether the caller has a right in this workspace.

        The permissions of the `ModelAdmin` concern the workspace itself: its name, members and keys.
        """
        return self.caller.may(right, self.workspace.pk)

    def page(self, template: str, *, title: str, status: int = 200, **context: Any) -> TemplateResponse:
        settings = self._links(is_setting=True)
        is_setting = any(setting.is_current for setting in settings)
        tabs = self._links(is_setting=False)
        if settings:  # leads to the first page for administering the workspace
            tabs.append(Link(title=_("Settings"), address=settings[0].address, is_current=is_setting))
        more = {
            "workspace": self.workspace,
            "tabs": NavigationRow.of(tabs),
            "settings": NavigationRow.of(settings) if is_setting else None,
            "list_address": reverse(f"{ROUTE}changelist"),
            "notices": additions.collect(lambda extension: extension.notices(self.caller, self.workspace.pk)),
        }
        return super().page(template, title=title, status=status, **{**more, **context})

    def _links(self, *, is_setting: bool) -> list[Link]:
        tabs = [tab for tab in (*SETTINGS, *additions.tabs(), ACTIVITY) if tab.is_setting is is_setting]
        return [
            Link(title=tab.title, address=self.address(tab.page), is_current=tab.page == self.tab)
            for tab in tabs
            if self.may(tab.right)
        ]

    def address(self, page: str, *rest: str) -> str:
        return address(page, self.workspace_id, *rest)


def address(page: str, workspace_id: str, *rest: str) -> str:
    return reverse(f"{ROUTE}{page}", args=[quote(workspace_id), *rest])


def invitation_address(token: str) -> str:
    return reverse(f"{ROUTE}invited", args=[token])


class WorkspacesPage(AdministrationPage):
    """The workspaces that the caller administers, and the roles in the others."""

    def get(self, request: HttpRequest) -> HttpResponse:
        administered = with_member_counts(self.verbs.list(by=self.caller))
        other_memberships = memberships_beyond(Right.ADMINISTER, by=self.caller)
        admins = list_admins((other.workspace_id for other in other_memberships), by=self.caller)
        return self.page(
            "studio/workspaces/list.html",
            title=gettext("Workspaces"),
            workspaces=[(workspace, address("members", workspace.pk)) for workspace in administered],
            others=[
                (
                    other,
                    role_name(other.role),
                    address("activity", other.workspace_id),
                    admins.get(other.workspace_id),
                )
                for other in other_memberships
            ],
            activity_address=reverse("studio:activity"),
            keys_address=reverse(f"{ROUTE}unlimited_keys") if administered else "",
            silence=WorkerHeartbeat.objects.silence() if administered else None,
            may_create=self.admin.has_add_permission(self.request),
            add_address=reverse(f"{ROUTE}add"),
        )


class CreateWorkspacePage(FormPage, AdministrationPage):
    """A new workspace, of which the caller is the first admin."""

    form_class = NewWorkspaceForm
    template = "studio/workspaces/create.html"
    title = _("New workspace")
    id_field = "id"

    def save(self, form: NewWorkspaceForm) -> HttpResponse:
        workspace = self.verbs.create(form.cleaned_data["id"], form.cleaned_data["name"], by=self.caller)
        message = gettext("The workspace %(name)s was created. Invite someone.") % {"name": workspace.name}
        return self.go(address("members", workspace.pk), message)

    def context(self) -> dict[str, Any]:
        return {"list_address": reverse(f"{ROUTE}changelist")}


class RenamePage(ActionPage, WorkspacePage):
    http_method_names = ("post",)
    back_page = "members"
    refusals = (Invalid,)

    def act(self) -> str:
        workspace = self.verbs.rename(self.workspace_id, self.request.POST.get("name", ""), by=self.caller)
        return gettext("The workspace is now called %(name)s.") % {"name": workspace.name}

    def refusal_in_words(self, error: Any) -> str:
        problem = {"problem": translate(error.issues[0].message)}
        return gettext("Nothing was changed: the name %(problem)s.") % problem


MAX_ASKED: Final = 3
"""The maximum number of admins, and of workspaces, named in a refusal."""


def no_drafts(caller: Caller) -> Forbidden:
    """Return the refusal of pages about drafts in all workspaces, which names admins of the caller's own."""
    workspaces = workspaces_with(Right.READ, by=caller).values_list("pk", flat=True)[:MAX_ASKED]
    admins_of = list_admins(list(workspaces), by=caller)
    names = list(dict.fromkeys(name for admins in admins_of.values() for name in admins))[:MAX_ASKED]
    if not names:
        return Forbidden("You may not read drafts in any workspace.")
    return Forbidden(
        Message("You may not read drafts in any workspace. Ask an admin: {names}.", names=Usernames(names))
    )


SHOW: Final = "show"
"""The parameter of a list that names the part to show."""


class ListingPage(WorkspacePage):
    """A list of the content of one workspace or, without one in its address, of all.

    That page can be narrowed to a workspace by the query. It covers only workspaces where the caller has the
    right of the page.
    """

    right = Right.READ_DRAFTS
    parts: Mapping[str, StrOrPromise] = {}
    """The titles of the parts of the list, by the value of `show` in the query; the first is the default."""

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        self.is_across = "workspace" not in kwargs
        workspace = quote(request.GET.get("workspace", "")) if self.is_across else kwargs["workspace"]
        super().setup(request, *args, **{**kwargs, "workspace": workspace})
        part = request.GET.get(SHOW, "")
        self.part = part if part in self.parts else next(iter(self.parts), "")

    @cached_property
    def listed_id(self) -> str | None:
        """The workspace whose content is listed; None for all.

        Raises `NotFound` and `Forbidden` for people who cannot open the page, so read it first.
        """
        if self.workspace_id or not self.is_across:
            return self.workspace.pk
        if self.caller.scope(self.right) == frozenset():
            raise no_drafts(self.caller)
        return None

    @cached_property
    def workspace_names(self) -> Mapping[str, str]:
        return dict(workspace_choices(self.right, self.caller))

    @property
    def scope(self) -> Mapping[str, str]:
        return {"workspace_id": self.listed_id} if self.listed_id is not None else {}

    @cached_property
    def shown_names(self) -> Mapping[str, str]:
        """The names of workspaces that lines show, by id; none if the page can be about only one."""
        is_of_one = self.listed_id is not None or len(self.workspace_names) == 1
        return {} if is_of_one else self.workspace_names

    def query(self, **values: str) -> str:
        """Return the query of the page with these values, which keeps the chosen workspace."""
        chosen = {"workspace": self.listed_id} if self.is_across and self.listed_id is not None else {}
        return urlencode({name: value for name, value in {**chosen, **values}.items() if value})

    def part_query(self, part: str) -> dict[str, str]:
        """Return the values of the query for a part of the list."""
        return {} if part == next(iter(self.parts)) else {SHOW: part}

    def page(self, template: str, *, title: str, status: int = 200, **context: Any) -> TemplateResponse:
        if self.parts:
            choices = [
                (name, f"?{self.query(**self.part_query(part))}", part == self.part)
                for part, name in self.parts.items()
            ]
            own = self.part_query(self.part)
            context |= {"show": self.part, "choices": choices, "query": self.query(**own), "kept": own}
        if not self.is_across:
            return super().page(template, title=title, status=status, **context)
        names = self.workspace_names
        more = {
            "workspaces": list(names.items()) if len(names) > 1 else [],
            "chosen_workspace": self.listed_id or "",
        }
        return AdministrationPage.page(self, template, title=title, status=status, **{**more, **context})
