"""Before something weighty, people prove again who they are, unless they did within ten minutes.

A form that was sent too late becomes a page that asks for the password and sends it again, so that nothing
that was typed is lost. People without a password sign in again at their provider.
"""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from capabilities.accounts.sign_in import sessions, single_sign_on
from capabilities.accounts.sign_in.conf import takes_password_of
from capabilities.accounts.sign_in.recency import MINUTES, is_recent
from studio.accounts.forms import sentence_about_waiting
from studio.error_pages import came_from, framed, wants_json
from versioning.models import SignInAttempts
from versioning.models.sign_in_attempts import TooManyAttempts, subject

PASSWORD: Final = "confirm_password"  # noqa: S105  the name of a field
_NOT_SENT_AGAIN: Final = frozenset({PASSWORD, "csrfmiddlewaretoken"})


def ask_again(request: HttpRequest) -> HttpResponse | None:
    """Return the page that asks for the password, or None if that is recent, or right in this form."""
    if is_recent(request):
        return None
    given = request.POST.get(PASSWORD)
    problem = "" if given is None else check_password(request, given)
    if given is not None and not problem:
        return None
    if wants_json(request):
        return JsonResponse(
            {"problems": [_("Confirm your password first: open “Your account”.")]}, status=403
        )
    return confirm_page(request, problem)


def check_password(request: HttpRequest, given: str) -> str:
    """Note in the session that the password is right; otherwise return what is wrong, in a sentence."""
    user: Any = request.user
    own = subject("password", str(user.pk))
    try:
        attempt = SignInAttempts.objects.begin([own])
    except TooManyAttempts as error:
        return sentence_about_waiting(error.seconds)
    if not takes_password_of(user) or not user.check_password(given):
        return _("Wrong password.")
    attempt.succeeded(own)
    sessions.confirm(request)
    return ""


def confirm_page(request: HttpRequest, problem: str = "", *, next_url: str = "") -> TemplateResponse:
    """Return the page that asks for the password, with the fields of the form that it interrupts."""
    fields = [
        (name, value)
        for name, values in request.POST.lists()
        if name not in _NOT_SENT_AGAIN
        for value in values
    ]
    user: Any = request.user
    return framed(
        request,
        "company/confirm.html",
        title=_("Confirm your password") if takes_password_of(user) else _("Confirm that it is you"),
        status=400 if problem else 200,
        fields=fields,
        problem=problem,
        minutes=MINUTES,
        takes_password=takes_password_of(user),
        ways=single_sign_on.ways_to_confirm(user, next_url or came_from(request)),
    )
