"""The URLs of the pages about webhooks, below that of a workspace."""

from __future__ import annotations

from django.urls import URLPattern, path

from capabilities.delivery.studio import detail, views
from studio.views import StudioPage


def page(route: str, view: type[StudioPage], name: str) -> URLPattern:
    """Return a route with the name that `WorkspacePage.address` expects."""
    return path(route, view.as_view(), name=f"versioning_workspace_{name}")


urlpatterns = [
    page("webhooks/", views.ListPage, "webhooks"),
    page("webhooks/add/", views.CreatePage, "webhook_add"),
    page("webhooks/live/", views.ListLivePage, "webhooks_live"),
    page("webhooks/<str:webhook>/", detail.ShowPage, "webhook"),
    page("webhooks/<str:webhook>/live/", detail.LivePage, "webhook_live"),
    page("webhooks/<str:webhook>/change/", views.ChangePage, "webhook_change"),
    page("webhooks/<str:webhook>/delete/", views.DeletePage, "webhook_delete"),
    page("webhooks/<str:webhook>/rotate/", detail.RotatePage, "webhook_rotate"),
    page("webhooks/<str:webhook>/ping/", detail.PingPage, "webhook_ping"),
    page("webhooks/<str:webhook>/enable/", detail.EnablePage, "webhook_enable"),
    page("webhooks/<str:webhook>/take-over/", detail.TakeOverPage, "webhook_take_over"),
    page("webhooks/<str:webhook>/deliveries/<str:delivery>/replay/", detail.ReplayPage, "webhook_replay"),
]
