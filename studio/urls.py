"""The pages of the studio without a model; `studio.admin` has those of agents and workspaces.

A `StudioPage` asks people to sign in first.
"""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from studio import extensions, site
from studio.accounts.views import NamePage, SessionPage
from studio.activity.live import LivePage, NotificationsPage
from studio.activity.views import ActivityPage
from studio.bulk import LabelChosenPage, PublishChosenPage, TagChosenPage
from studio.home import HomePage
from studio.preferences import DensityPage, PreferencesPage, ScriptCatalog, TourPage, translated_apps
from studio.preview.answers import AnswersPage
from studio.publishing.drafts import WaitingPage
from studio.search import SearchPage, SuggestionsPage
from studio.workspaces.members import AccessPage, PeoplePage

urlpatterns: list[URLPattern | URLResolver] = [
    path("", HomePage.as_view(), name="index"),
    path("search/", SearchPage.as_view(), name="search"),
    path("search/suggestions/", SuggestionsPage.as_view(), name="search_suggestions"),
    path("waiting/", WaitingPage.as_view(), name="waiting"),
    path("publish/", PublishChosenPage.as_view(), name="publish_chosen"),
    path("label/", LabelChosenPage.as_view(), name="label_chosen"),
    path("tag/", TagChosenPage.as_view(), name="tag_chosen"),
    *(path("", include(added.own_urls)) for added in extensions.REGISTERED if added.own_urls),
    path("access/", AccessPage.as_view(), name="access"),
    path("people/", PeoplePage.as_view(), name="people"),
    path("activity/", ActivityPage.as_view(), name="activity"),
    path("notifications/", NotificationsPage.as_view(), name="notifications"),
    path("activity/live/", LivePage.as_view(), name="live"),
    path("session/", SessionPage.as_view(), name="session"),
    path("name/", NamePage.as_view(), name="name"),
    path("preferences/", PreferencesPage.as_view(), name="preferences"),
    path("language/", PreferencesPage.as_view()),  # its address in earlier releases
    path("density/", DensityPage.as_view(), name="density"),
    path("tour/", TourPage.as_view(), name="tour"),
    # Scripts also need it before people sign in.
    path(
        "translations/<str:language>.js",
        ScriptCatalog.as_view(packages=[app.name for app in translated_apps()]),
        name="script_catalog",
    ),
    path("answers/", AnswersPage.as_view(), name="answers"),
    path("login/", site.login, name="login"),
    # Open to signed-in people without any membership.
    path("logout/", site.logout, name="logout"),
    path("password_change/", site.admin_view(site.password_change, cacheable=True), name="password_change"),
    path(
        "password_change/done/",
        site.admin_view(site.password_change_done, cacheable=True),
        name="password_change_done",
    ),
]
