"""The pages about signing in and about the person's own account."""

from __future__ import annotations

from django.urls import path

from capabilities.accounts.sign_in.account import (
    AccountPage,
    ConfirmPage,
    LinksPage,
    SessionsPage,
    local_login,
)
from capabilities.accounts.sign_in.factors.pages import RequiredView, SecondFactorPage, SecondStepView
from capabilities.accounts.sign_in.single_sign_on import BeginView, CallbackView

urlpatterns = [
    path("login/local/", local_login, name="local_login"),
    path("login/second/", SecondStepView.as_view(), name="second_step"),
    path("login/second-factor/", RequiredView.as_view(), name="second_factor_required"),
    path("account/second-factor/", SecondFactorPage.as_view(), name="second_factor"),
    path("sso/<str:provider>/", BeginView.as_view(), name="sso"),
    path("sso/<str:provider>/callback/", CallbackView.as_view(), name="sso_callback"),
    path("account/", AccountPage.as_view(), name="account"),
    path("account/confirm/", ConfirmPage.as_view(), name="account_confirm"),
    path("account/sessions/", SessionsPage.as_view(), name="account_sessions"),
    path("account/links/", LinksPage.as_view(), name="account_links"),
]
