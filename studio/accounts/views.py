"""Accepting an invitation: its link leads to a page that offers the role and asks for confirmation."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Any, Final

from django import forms
from django.contrib.admin.utils import unquote
from django.contrib.auth import REDIRECT_FIELD_NAME, authenticate, get_user_model
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import get_token
from django.urls import reverse
from django.utils import translation
from django.utils.decorators import method_decorator
from django.utils.functional import cached_property
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from editor_client.shared.text_keys import caseless

from studio import sign_in, site
from studio.accounts.forms import (
    OPENED_INVITATION,
    NewPasswordForm,
    SignInForm,
    SuperuserSignInForm,
    invitations,
    remember_browser,
    with_retry_after,
)
from studio.error_pages import render_in_frame
from studio.named import display_name, reserved_names
from studio.pages import FormPage
from studio.preferences import LANGUAGES
from studio.translation import translate
from studio.views import StudioPage
from studio.workspaces.names import role_name
from versioning.domain.access import Role, Via
from versioning.domain.errors import Forbidden, IdTaken, Invalid, NotFound
from versioning.models import Invitation
from versioning.models.accounts import account, accounts, mixes_alphabets, name_fields, unsaved_account

_TEMPLATE: Final = "studio/accounts/invited.html"


@never_cache
def open_link(request: HttpRequest, token: str) -> HttpResponse:
    """Move the secret out of the address: store its digest in the session, and redirect.

    So the secret is in no `Referer`, and only once in the history of the browser.
    """
    digest = Invitation.objects.digest_of(token.rstrip("/"))
    try:
        invitations().find(digest)
    except NotFound:
        request.session.pop(OPENED_INVITATION, None)
    else:
        request.session[OPENED_INVITATION] = digest
    return HttpResponseRedirect(reverse("studio:versioning_workspace_accept"))


@method_decorator([never_cache, sensitive_post_parameters()], name="dispatch")
class AcceptPage(View):
    """Asks for confirmation: from the invited account, or with a password for a new one."""

    http_method_names = ("get", "post")

    def get(self, request: HttpRequest) -> HttpResponse:
        try:
            invitation = self._find()
        except NotFound:
            return self._page(_("Too late"), status=404)
        return self._show(invitation)

    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            invitation = self._find()
            if request.POST.get("invitation") != str(invitation.pk):
                # Another link was opened in this browser in the meantime: people accept only the invitation
                # that they saw.
                return self._show(invitation, status=409)
            if request.user.is_authenticated:
                invitations().accept(invitation.digest, by=request.user, via=Via.STUDIO)
                request.session.pop(OPENED_INVITATION, None)
                return HttpResponseRedirect(reverse("studio:index"))
            return self._make_account(invitation)
        except Forbidden:
            return self._show(invitation, status=403)
        except NotFound:
            return self._page(_("Too late"), status=404)

    def _make_account(self, invitation: Invitation) -> HttpResponse:
        form = NewPasswordForm(unsaved_account(invitation.username), self.request.POST)
        is_taken = account(invitation.username) is not None
        if is_taken or not sign_in.takes_passwords() or not form.is_valid():
            return self._show(invitation, form, status=400)
        password = form.cleaned_data["new_password1"]
        try:
            invitations().accept_with_new_account(invitation.digest, password, via=Via.STUDIO)
        except (IdTaken, Invalid) as error:
            form.add_error(None, translate(error.message))
            return self._show(invitation, form, status=409)
        self.request.session.pop(OPENED_INVITATION, None)
        user = authenticate(self.request, username=invitation.username, password=password)
        home = reverse("studio:index")
        return HttpResponseRedirect(home) if user is None else sign_in.with_password(self.request, user, home)

    def _find(self) -> Invitation:
        return invitations().find(self.request.session.get(OPENED_INVITATION, ""))

    def _show(
        self, invitation: Invitation, form: NewPasswordForm | None = None, *, status: int = 200
    ) -> HttpResponse:
        here = reverse("studio:versioning_workspace_accept")
        signed_in = self.request.user.get_username() if self.request.user.is_authenticated else ""
        return self._page(
            _("Welcome, %(person)s") % {"person": invitation.username},
            status=status,
            role=role_name(invitation.role),
            invitation=invitation,
            has_account=account(invitation.username) is not None,
            takes_passwords=sign_in.takes_passwords(),
            signed_in=signed_in,
            form=form or NewPasswordForm(unsaved_account(invitation.username)),
            sign_in_address=f"{reverse('studio:login')}?{urlencode({'next': here})}",
        )

    def _page(self, title: str, *, status: int, **context: Any) -> HttpResponse:
        return render_in_frame(self.request, _TEMPLATE, title=title, status=status, **context)


class SessionPage(StudioPage):
    """The signed-in account, its name, and the CSRF token for its forms."""

    http_method_names = ["get"]

    def get(self, request: HttpRequest) -> HttpResponse:
        """Answer in JSON: `{"person": 7, "name": "…", "token": "…"}`; without a session, redirect."""
        person = {"person": request.user.pk, "name": request.user.get_username()}
        return JsonResponse({**person, "token": get_token(request)})


class LoginPage(LoginView):
    authentication_form = SignInForm
    template_name = "studio/accounts/login.html"
    http_method_names = ["get", "post", "head"]
    for_superusers = False
    """Whether this is the sign-in page for superusers while other passwords are not accepted."""

    @classmethod
    def respond(
        cls, request: HttpRequest, *, title: str, for_superusers: bool = False, **context: Any
    ) -> HttpResponseBase:
        """Return the page, or go home if the person is signed in."""
        if request.method == "GET" and site.has_permission(request):
            return HttpResponseRedirect(reverse("studio:index"))
        context = {
            **site.each_context(request),
            "title": title,
            "app_path": request.get_full_path(),
            **context,
        }
        return cls.as_view(extra_context=context, for_superusers=for_superusers)(request)

    @property
    def _takes_passwords(self) -> bool:
        return self.for_superusers or sign_in.takes_passwords()

    def get_form_class(self) -> type[Any]:
        """Return the form; on the page for superusers, one that refuses others."""
        return SuperuserSignInForm if self.for_superusers else self.authentication_form

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        ways = [] if self.for_superusers else sign_in.ways(self._next)
        forgotten = sign_in.forgotten_password() if self._takes_passwords else ""
        context = {"takes_passwords": self._takes_passwords, "ways": ways, "forgotten_password": forgotten}
        return super().get_context_data(**context, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Sign in, or show the form again; if passwords are not accepted, show the other ways."""
        if not self._takes_passwords:
            return self.render_to_response(self.get_context_data(), status=403)
        response = super().post(request, *args, **kwargs)
        return with_retry_after(getattr(response, "context_data", {}).get("form"), response)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response = sign_in.with_password(self.request, form.get_user(), self._next)
        remember_browser(self.request, response, form.get_user())
        return response

    @property
    def _next(self) -> str:
        next_url = self.request.POST.get(REDIRECT_FIELD_NAME) or self.request.GET.get(REDIRECT_FIELD_NAME, "")
        return next_url or reverse("studio:index")


_FIELDS: Final = {
    "first_name": (gettext_lazy("First name"), "given-name"),
    "last_name": (gettext_lazy("Last name"), "family-name"),
}
"""The label of each field, and its autocomplete token."""
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""The categories of characters that are invisible or change the direction of the following text."""
_JOINERS: Final = frozenset("\u200c\u200d")
"""The invisible characters that names in some scripts need."""
MAX_NAME: Final = 60
"""The maximum length of a first or a last name, so that lines with names can be read."""
_MARKS: Final = 3
"""The maximum number of marks on a letter, as Vietnamese, Thai and Hebrew need."""


class NameForm(forms.Form):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in name_fields():
            label, autocomplete = _FIELDS[name]
            field: Any = get_user_model()._meta.get_field(name)
            attributes = {"autocomplete": autocomplete, "autocapitalize": "words"}
            self.fields[name] = forms.CharField(
                label=label,
                required=False,
                max_length=min(field.max_length, MAX_NAME),
                widget=forms.TextInput(attributes),
                validators=[_check_readable],
            )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        whole = " ".join(" ".join(filter(None, cleaned.values())).split())
        if caseless(unicodedata.normalize("NFKC", whole)) in _reserved_names():
            self.add_error(name_fields()[0], _("The studio says this about someone else."))
        return cleaned


def _check_readable(name: str) -> None:
    """Raise `ValidationError` for an unreadable name, or one that imitates another.

    Such are names without letters, with characters that are invisible or change the text around them, with
    heaps of marks, and words that mix alphabets whose letters look alike.
    """
    is_readable = any(character.isalnum() for character in name)
    is_invisible = any(
        unicodedata.category(character) in _INVISIBLE and character not in _JOINERS for character in name
    )
    kinds = "".join(unicodedata.category(character)[0] for character in unicodedata.normalize("NFD", name))
    is_heaped = "M" * (_MARKS + 1) in kinds
    if not is_readable or is_invisible or is_heaped or any(map(mixes_alphabets, name.split())):
        raise ValidationError(_("Use letters that everyone can read."))


@lru_cache
def _reserved_names() -> frozenset[str]:
    """Return the studio's words for the reader and the application, in each of its languages."""
    names: set[str] = set()
    for language in LANGUAGES:
        with translation.override(language):
            names |= reserved_names()
    return frozenset(names)


class NamePage(FormPage):
    form_class = NameForm
    template = "studio/accounts/name.html"
    title = gettext_lazy("Your name")

    def initial(self) -> dict[str, Any]:
        """Return the names; raises `NotFound` if the user model has none."""
        if not name_fields():
            raise NotFound
        return {name: getattr(self.request.user, name) for name in name_fields()}

    def save(self, form: NameForm) -> HttpResponse:
        user: Any = self.request.user
        for name in name_fields():
            setattr(user, name, form.cleaned_data[name])
        user.save(update_fields=name_fields())
        return self.go(self.request.path, _("You are now shown as %(name)s.") % {"name": display_name(user)})


_META: Final = accounts().model._meta
LIST: Final = f"studio:{_META.app_label}_{_META.model_name}_changelist"
PAGE: Final = f"{_META.app_label}_{_META.model_name}_erase"


class EraseForm(forms.Form):
    """The user name, typed once more, because this cannot be undone."""

    username = forms.CharField(
        label=gettext_lazy("The user name, to confirm"),
        widget=forms.TextInput(attrs={"class": "input", "autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, username: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self._username = username

    def clean_username(self) -> str:
        if self.cleaned_data["username"] != self._username:
            raise ValidationError(_("This is not the user name of the account."))
        return self._username


class ErasePage(FormPage):
    """Asks for the user name, lists the erased and the remaining data, and erases the person."""

    asks_password_again = True
    template = "studio/accounts/erase.html"

    @cached_property
    def username(self) -> str:
        """The name of the account; raises `Forbidden` unless the caller is a superuser."""
        if self.caller.everywhere is not Role.ADMIN:
            raise Forbidden("Only superusers may erase people.")
        try:
            user = accounts().filter(pk=unquote(self.kwargs["object_id"])).first()
        except (ValueError, ValidationError):
            user = None
        if user is None:
            raise NotFound
        return user.get_username()

    @property
    def title(self) -> str:
        return _("Erase %(name)s?") % {"name": self.username}

    def form(self, data: Any = None) -> EraseForm:
        return EraseForm(data, username=self.username)

    def save(self, form: EraseForm) -> HttpResponse:
        erased = self.editor.person.erase(self.username, by=self.caller)
        message = _("The person is erased. What they did remains under the name %(name)s.")
        return self.go(reverse(LIST), message % {"name": erased.username})

    def context(self) -> dict[str, Any]:
        return {"back_address": reverse(LIST)}
