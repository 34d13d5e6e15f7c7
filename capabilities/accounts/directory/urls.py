"""The addresses of SCIM, below `/scim/v2/`."""

from __future__ import annotations

from django.urls import path, re_path

from capabilities.accounts.directory import api

app_name = "scim"

urlpatterns = [
    path(".search", api.SearchView.as_view()),
    path("Users", api.UsersView.as_view()),
    path("Users/.search", api.SearchView.as_view()),
    path("Users/<str:user_id>", api.UserView.as_view()),
    path("ServiceProviderConfig", api.ServiceProviderConfigView.as_view()),
    path("ResourceTypes", api.ResourceTypesView.as_view()),
    path("ResourceTypes/<str:name>", api.ResourceTypesView.as_view()),
    path("Schemas", api.SchemasView.as_view()),
    path("Schemas/<str:name>", api.SchemasView.as_view()),
    re_path("", api.MissingView.as_view(), name="root"),
]
