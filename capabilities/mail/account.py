"""The page on which people say what is sent to them, and where to."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _

from capabilities.mail import conf
from capabilities.mail.models import Mail, MailKind, MailPreferences
from capabilities.mail.recipients import address_field, address_of
from capabilities.mail.topics import offered
from studio import sign_in
from studio.navigation import Link
from studio.views import StudioPage
from versioning.domain.errors import NotFound
from versioning.models.accounts import accounts, is_mail_address


def links() -> list[Link]:
    """Return the link of the page about the account, if mail is sent."""
    return [Link(title=_("Mail"), address=reverse("studio:account_mail"))] if conf.is_on() else []


class MailPage(StudioPage):
    """Shows the address and the topics, and changes them."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer the request."""
        self.field = address_field()
        return super().dispatch(request, *args, **kwargs)

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show them."""
        return self._show()

    def post(self, request: HttpRequest) -> HttpResponse:
        """Store what is to be sent, or another address."""
        if not conf.is_on():
            raise NotFound
        return self._change_address() if "address" in request.POST else self._choose()

    def _choose(self) -> HttpResponse:
        sent = self.request.POST
        user: Any = self.request.user
        known = [one.name for one in offered()]
        before = MailPreferences.objects.of([user.pk])[user.pk].turned_off
        # Of what is not offered now, such as by an application that was taken out, the choice stays.
        turned_off = [one for one in before if one not in known]
        turned_off += [one for one in known if one not in sent.getlist("topic")]
        chosen = {"turned_off": turned_off, "daily": sent.get("when") == "daily"}
        MailPreferences.objects.update_or_create(user_id=user.pk, defaults=chosen)
        return self.go(self.request.path, _("Mail settings saved."))

    def _change_address(self) -> HttpResponse:
        if self.field is None:
            raise NotFound
        again = sign_in.ask_again(self.request)
        if again is not None:
            return again
        address = self.request.POST["address"].strip()
        user: Any = self.request.user
        if address and not is_mail_address(address):
            return self._show(problem=_("Enter a valid mail address."), typed=address, status=400)
        before = address_of(user)
        if address != before:
            accounts().filter(pk=user.pk).update(**{self.field: address})
            if before:
                Mail.due(MailKind.ADDRESS_CHANGED, user_id=user.pk, detail={"to": before}).save()
        return self.go(self.request.path, _("Mail address saved."))

    def _show(self, *, problem: str = "", typed: str | None = None, status: int = 200) -> HttpResponse:
        if not conf.is_on():
            raise NotFound
        user: Any = self.request.user
        preferences = MailPreferences.objects.of([user.pk])[user.pk]
        return self.page(
            "mail/account.html",
            title=_("Mail"),
            status=status,
            problem=problem,
            has_address=self.field is not None,
            address=typed if typed is not None else str(getattr(user, self.field or "", "") or ""),
            topics=[(one, preferences.wants(one.name)) for one in offered()],
            daily=preferences.daily,
        )
