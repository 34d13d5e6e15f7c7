"""Every address of the studio, below `/studio/`.

A `StudioPage` asks whoever comes to sign in first. In place of an id stands the admin's quoted form of it
(`django.contrib.admin.utils.quote`), because an id may contain slashes.
"""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.generic import RedirectView

from studio import extensions, site
from studio.accounts.session import SessionPage
from studio.accounts.views import AcceptPage, open_link
from studio.activity.live import LivePage, SincePage
from studio.activity.notifications import NotificationsPage
from studio.activity.views import ActivityPage, ResourceActivityPage, WorkspaceActivityPage
from studio.bulk.label import LabelChosenPage
from studio.bulk.publish import PublishChosenPage
from studio.bulk.tag import TagChosenPage
from studio.diff.views import ComparePage
from studio.editing.choices import ChoicesPage
from studio.editing.convert import ConvertPage
from studio.editing.names import NamesPage
from studio.editing.references import ReferencePage
from studio.editing.views import EditPage
from studio.history.download import DownloadPage
from studio.history.one import DeleteVersionPage, LabelsPage, RestorePage, VersionPage
from studio.history.views import HistoryPage
from studio.home.views import HomePage
from studio.kinds import KINDS, StudioKind
from studio.preferences.language import ScriptCatalog, translated_packages
from studio.preferences.views import DensityPage, LanguagePage, TourPage
from studio.preview.answers import AnswersPage
from studio.preview.context_page import ContextPage
from studio.preview.try_page import TryPage, TryRun
from studio.preview.views import PreviewPage
from studio.publishing.confirm import DeletePage, DiscardPage, UnpublishPage, VisibilityPage
from studio.publishing.usage import UsagePage
from studio.publishing.views import PublishPage
from studio.publishing.waiting import WaitingPage
from studio.resources.create import CreatePage
from studio.resources.duplicate import DuplicatePage
from studio.resources.saved_filters import FiltersPage
from studio.resources.star_page import StarPage
from studio.resources.views import ListPage
from studio.search.views import SearchPage, SuggestionsPage
from studio.views import StudioPage
from studio.workspaces.keys import KeysPage, RevokePage, UnlimitedKeysPage
from studio.workspaces.members import InvitationLinkPage, MembersPage, RemovePage, RolePage, WithdrawPage
from studio.workspaces.views import CreateWorkspacePage, RenamePage, WorkspacesPage

signed_in = site.admin_view


def resource_urls(kind: StudioKind) -> list[URLPattern]:
    """Return the addresses of the pages about one kind of resource."""

    def page(route: str, view: type[StudioPage], name: str) -> URLPattern:
        return path(route, view.as_view(kind=kind), name=kind.url_name(name))

    preview = [
        page("<str:resource>/preview/", PreviewPage, "preview"),
        page("<str:resource>/context/", ContextPage, "context"),
    ]
    trying_out = [
        page("<str:resource>/try/", TryPage, "try"),
        *([try_run(kind)] if kind.is_run else ()),
    ]
    to_the_edit_page = RedirectView.as_view(pattern_name=f"studio:{kind.url_name('change')}")
    return [
        page("", ListPage, "changelist"),
        page("add/", CreatePage, "add"),
        page("filters/", FiltersPage, "filters"),
        path("<str:resource>/", signed_in(to_the_edit_page)),
        page("<str:resource>/change/", EditPage, "change"),
        page("<str:resource>/convert/", ConvertPage, "convert"),
        page("<str:resource>/choices/", ChoicesPage, "choices"),
        page("<str:resource>/names/", NamesPage, "names"),
        page("<str:resource>/reference/", ReferencePage, "reference"),
        *(preview if kind.has_preview else ()),
        *(trying_out if kind.has_preview else ()),
        page("<str:resource>/usage/", UsagePage, "usage"),
        page("<str:resource>/star/", StarPage, "star"),
        page("<str:resource>/duplicate/", DuplicatePage, "duplicate"),
        page("<str:resource>/publish/", PublishPage, "publish"),
        page("<str:resource>/unpublish/", UnpublishPage, "unpublish"),
        page("<str:resource>/discard/", DiscardPage, "discard"),
        page("<str:resource>/visibility/", VisibilityPage, "visibility"),
        page("<str:resource>/delete/", DeletePage, "delete"),
        page("<str:resource>/history/", HistoryPage, "history"),
        page("<str:resource>/compare/", ComparePage, "compare"),
        page("<str:resource>/activity/", ResourceActivityPage, "activity"),
        page("<str:resource>/activity/since/", SincePage, "since"),
        page("<str:resource>/versions/<str:version>/", VersionPage, "version"),
        page("<str:resource>/versions/<str:version>/restore/", RestorePage, "restore"),
        page("<str:resource>/versions/<str:version>/download/", DownloadPage, "download"),
        page("<str:resource>/versions/<str:version>/labels/", LabelsPage, "labels"),
        page("<str:resource>/versions/<str:version>/delete/", DeleteVersionPage, "version_delete"),
        *extensions.resource_urls(kind),
    ]


def try_run(kind: StudioKind) -> URLPattern:
    """Return the address that streams a run: an API view, which answers everybody in JSON."""
    view = TryRun.as_view({"post": "stream"})
    return path("<str:resource>/try/run/", view, name=kind.url_name("try_run"))


def workspace_urls() -> list[URLPattern | URLResolver]:
    """Return the addresses of the pages about workspaces, and of those that other applications add."""

    def page(route: str, view: type[StudioPage], name: str) -> URLPattern:
        return path(route, view.as_view(), name=f"versioning_workspace_{name}")

    # What an activity page shows to admins was the audit log once.
    to_the_activity = RedirectView.as_view(
        pattern_name="studio:versioning_workspace_activity", query_string=True
    )
    return [
        page("", WorkspacesPage, "changelist"),
        page("add/", CreateWorkspacePage, "add"),
        page("keys/", UnlimitedKeysPage, "unlimited_keys"),
        path("audit/", signed_in(RedirectView.as_view(pattern_name="studio:activity", query_string=True))),
        page("<str:workspace>/change/", MembersPage, "change"),
        page("<str:workspace>/rename/", RenamePage, "rename"),
        page("<str:workspace>/members/", MembersPage, "members"),
        page("<str:workspace>/members/<str:member>/role/", RolePage, "role"),
        page("<str:workspace>/members/<str:member>/remove/", RemovePage, "remove"),
        page("<str:workspace>/invitations/<str:member>/link/", InvitationLinkPage, "invitation_link"),
        page("<str:workspace>/invitations/<str:member>/withdraw/", WithdrawPage, "withdraw"),
        page("<str:workspace>/keys/", KeysPage, "keys"),
        page("<str:workspace>/keys/<str:prefix>/revoke/", RevokePage, "revoke"),
        page("<str:workspace>/activity/", WorkspaceActivityPage, "activity"),
        path("<str:workspace>/audit/", signed_in(to_the_activity)),
        *(path("<str:workspace>/", include(added.urls)) for added in extensions.registered() if added.urls),
    ]


# For people who cannot sign in yet.
invitation_urls = [
    path("", AcceptPage.as_view(), name="versioning_workspace_accept"),
    # Whatever follows: a link that somebody has cut short must not be taken for another page.
    path("<path:token>", open_link, name="versioning_workspace_invited"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", HomePage.as_view(), name="index"),
    path("search/", SearchPage.as_view(), name="search"),
    path("search/suggestions/", SuggestionsPage.as_view(), name="search_suggestions"),
    path("waiting/", WaitingPage.as_view(), name="waiting"),
    path("publish/", PublishChosenPage.as_view(), name="publish_chosen"),
    path("label/", LabelChosenPage.as_view(), name="label_chosen"),
    path("tag/", TagChosenPage.as_view(), name="tag_chosen"),
    *(path("", include(added.own_urls)) for added in extensions.registered() if added.own_urls),
    path("activity/", ActivityPage.as_view(), name="activity"),
    path("notifications/", NotificationsPage.as_view(), name="notifications"),
    path("activity/live/", LivePage.as_view(), name="live"),
    path("session/", SessionPage.as_view(), name="session"),
    path("language/", LanguagePage.as_view(), name="language"),
    path("density/", DensityPage.as_view(), name="density"),
    path("tour/", TourPage.as_view(), name="tour"),
    # Scripts need it where nobody is signed in yet, too.
    path(
        "translations/<str:language>.js",
        ScriptCatalog.as_view(packages=translated_packages()),
        name="script_catalog",
    ),
    path("answers/", AnswersPage.as_view(), name="answers"),
    path("login/", site.login, name="login"),
    # Open to those who are signed in and a member of nothing (any more).
    path("logout/", site.logout, name="logout"),
    path("password_change/", signed_in(site.password_change, cacheable=True), name="password_change"),
    path(
        "password_change/done/",
        signed_in(site.password_change_done, cacheable=True),
        name="password_change_done",
    ),
    # `versioning/agent/` and `versioning/promptblock/`
    *(path(f"versioning/{kind.model._meta.model_name}/", include(resource_urls(kind))) for kind in KINDS),
    path("versioning/workspace/welcome/", include(invitation_urls)),
    path("versioning/workspace/", include(workspace_urls())),
    re_path(r"(?P<url>.*)$", signed_in(site.catch_all_view)),
]
