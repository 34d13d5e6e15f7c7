"""The URLs of the pages about service accounts, below that of a workspace."""

from __future__ import annotations

from django.urls import path

from capabilities.accounts.administration.service_accounts import (
    DeleteServiceAccountPage,
    ServiceAccountsPage,
)

urlpatterns = [
    path(
        "service-accounts/",
        ServiceAccountsPage.as_view(),
        name="versioning_workspace_service_accounts",
    ),
    path(
        "service-accounts/<str:member>/delete/",
        DeleteServiceAccountPage.as_view(),
        name="versioning_workspace_service_account_delete",
    ),
]
