"""The addresses of the pages about webhooks, below that of a workspace."""

from __future__ import annotations

from django.urls import URLPattern, path

from delivery.studio import one, views
from studio.views import StudioPage


def page(route: str, view: type[StudioPage], name: str) -> URLPattern:
    """Return an address with the name by which `WorkspacePage.address` finds it."""
    return path(route, view.as_view(), name=f"versioning_workspace_{name}")


urlpatterns = [
    page("webhooks/", views.ListPage, "webhooks"),
    page("webhooks/add/", views.CreatePage, "webhook_add"),
    page("webhooks/live/", views.ListLivePage, "webhooks_live"),
    page("webhooks/<str:webhook>/", one.ShowPage, "webhook"),
    page("webhooks/<str:webhook>/live/", one.LivePage, "webhook_live"),
    page("webhooks/<str:webhook>/change/", views.ChangePage, "webhook_change"),
    page("webhooks/<str:webhook>/delete/", views.DeletePage, "webhook_delete"),
    page("webhooks/<str:webhook>/rotate/", one.RotatePage, "webhook_rotate"),
    page("webhooks/<str:webhook>/ping/", one.PingPage, "webhook_ping"),
    page("webhooks/<str:webhook>/enable/", one.EnablePage, "webhook_enable"),
    page("webhooks/<str:webhook>/take-over/", one.TakeOverPage, "webhook_take_over"),
    page("webhooks/<str:webhook>/deliveries/<str:delivery>/replay/", one.ReplayPage, "webhook_replay"),
]
