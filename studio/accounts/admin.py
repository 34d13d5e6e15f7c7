"""Accounts, for superusers: access and superuser rights."""

from __future__ import annotations

import datetime
from typing import Any, Final

from django.contrib.admin import display
from django.contrib.admin.utils import quote, unquote
from django.contrib.auth import get_user_model
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import ReadOnlyPasswordHashWidget
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from studio import sign_in
from studio.accounts.forms import PasswordAlone
from studio.accounts.views import PAGE, ErasePage
from studio.dates import moment_in_words, time_element
from studio.permissions import caller_of
from versioning.domain.access import Role
from versioning.models.text_keys import contains_words

_ACCOUNT: Final = get_user_model()
_NAME: Final = _ACCOUNT.USERNAME_FIELD


def _existing(*names: str) -> tuple[str, ...]:
    """Return the names that are fields of the project's user model, except the user name."""
    fields = {field.name for field in _ACCOUNT._meta.concrete_fields} - {_NAME}
    return tuple(name for name in names if name in fields)


class _PasswordWidget(ReadOnlyPasswordHashWidget):
    """Shows whether there is a password, without its salt and hash."""

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        if any("value" in entry for entry in context["summary"]):
            context["summary"] = [{"label": gettext("A password is set.")}]
        return context


class _AccountForm(UserAdmin.form):  # type: ignore[valid-type,misc]  # a form, by its attribute
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password"].widget = _PasswordWidget(self.fields["password"].widget.attrs)


class _OthersPasswordForm(PasswordAlone, UserAdmin.change_password_form):  # type: ignore[misc]
    usable_password_help_text = format_lazy(
        '{} <ul id="id_unusable_warning" class="messagelist"><li class="warning">{}</li></ul>',
        _("Without a password, this account signs in another way, such as with single sign-on."),
        _("The current password of this account will be lost."),
    )


_PERSONAL: Final = _existing("first_name", "last_name", "email")
_RIGHTS: Final = _existing("is_active", "is_superuser")
_MOMENTS: Final = {"last_login": "last_sign_in", "date_joined": "joined"}
"""The fields with times, and the methods that format them like all pages."""
_DATES: Final = tuple(_MOMENTS[name] for name in _existing(*_MOMENTS))


def _in_words(moment: datetime.datetime | None) -> str | None:
    return time_element(moment, moment_in_words(moment)) if moment else None


def _chips(request: HttpRequest) -> list[dict[str, Any]]:
    queries = {"": _("All")}
    if "is_active" in _RIGHTS:
        queries |= {"is_active__exact=1": _("Active"), "is_active__exact=0": _("Inactive")}
    if "is_superuser" in _RIGHTS:
        queries["is_superuser__exact=1"] = _("Superusers")
    current = request.GET.urlencode()
    return [
        {"title": title, "address": f"?{query}", "current": query == current}
        for query, title in queries.items()
    ]


class AccountAdmin(UserAdmin):  # type: ignore[type-arg]  # Django's class takes none at runtime
    """Django's pages about users, without staff status, groups and permissions, which the editor ignores.

    Accounts are created by invitations and commands, which check their names. They are deactivated instead of
    deleted, and keep their names, because history and log name them, until a person is erased.
    """

    title = _("Users")
    fieldsets = (
        (None, {"fields": (_NAME, "password")}),
        *([(_("Personal info"), {"fields": _PERSONAL})] if _PERSONAL else ()),
        (_("Permissions"), {"fields": _RIGHTS}),
        (_("Important dates"), {"fields": _DATES}),
        (_("Personal data"), {"fields": ("erasing",)}),
    )
    list_display = (_NAME, *_PERSONAL, *_RIGHTS, *(_MOMENTS[name] for name in _existing("last_login")))
    list_filter = _RIGHTS
    search_fields = (_NAME, *_PERSONAL)
    ordering = (_NAME,)
    filter_horizontal = ()
    form = _AccountForm
    change_password_form = _OthersPasswordForm
    view_on_site = False
    change_list_template = "studio/accounts/users.html"

    @display(description=_("last login"), ordering="last_login")
    def last_sign_in(self, account: Any) -> str:
        return _in_words(account.last_login) or gettext("never")

    @display(description=_("date joined"), ordering="date_joined")
    def joined(self, account: Any) -> str | None:
        return _in_words(account.date_joined)

    @display(description=_("Erasing"))
    def erasing(self, account: Any) -> str:
        address = reverse(f"studio:{PAGE}", args=[quote(str(account.pk))])
        return format_html('<a href="{}">{}</a>', address, gettext("Erase the person…"))

    def get_urls(self) -> list[Any]:
        return [path("<str:object_id>/erase/", ErasePage.as_view(), name=PAGE), *super().get_urls()]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Return the name, the dates, and the person's own rights, so that a superuser always remains."""
        return (_NAME, *_DATES, "erasing", *(_RIGHTS if obj == request.user else ()))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return caller_of(request).everywhere is Role.ADMIN

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search like the studio instead of by LIKE: case and normal form never matter."""
        return queryset.filter(contains_words(self.search_fields, search_term)), False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        obj.save(update_fields=form.changed_data)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {**(extra_context or {}), "title": self.title, "chips": _chips(request)}
        response = super().changelist_view(request, context)
        changes = (getattr(response, "context_data", None) or {}).get("cl")
        if changes is not None:
            response.context_data["rows"] = [  # type: ignore[attr-defined]
                {
                    "account": account,
                    "address": changes.url_for_result(account),
                    "name": account.get_full_name() if hasattr(account, "get_full_name") else "",
                    "mail": getattr(account, getattr(account, "EMAIL_FIELD", "email"), ""),
                    "signed_in": _in_words(account.last_login) if hasattr(account, "last_login") else None,
                }
                for account in changes.result_list
            ]
        return response

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show and change an account; asks for the superuser's password unless it was entered recently."""
        again = sign_in.ask_again(request) if request.method == "POST" else None
        return again or super().changeform_view(request, object_id, form_url, extra_context)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """Set the password of another account; changing your own requires the old password."""
        if self.has_module_permission(request) and self.get_object(request, unquote(id)) == request.user:
            return HttpResponseRedirect(reverse("studio:password_change"))
        again = sign_in.ask_again(request) if request.method == "POST" else None
        return again or super().user_change_password(request, id, form_url)
