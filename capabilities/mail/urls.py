"""The pages about mail and forgotten passwords."""

from __future__ import annotations

from django.urls import path

from capabilities.mail.account import MailPage
from capabilities.mail.forgotten import ForgottenPasswordPage, NewPasswordPage

urlpatterns = [
    path("account/mail/", MailPage.as_view(), name="account_mail"),
    path("login/forgotten/", ForgottenPasswordPage.as_view(), name="forgotten_password"),
    path("login/new-password/<str:uidb64>/<str:token>/", NewPasswordPage.as_view(), name="new_password"),
]
