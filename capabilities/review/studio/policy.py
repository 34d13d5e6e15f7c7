"""The review policy of a workspace: its members may read it, its admins may change it."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.contrib.auth import get_user_model
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from capabilities.review.models import MAX_REQUIRED, Bypass, ReviewPolicy
from capabilities.review.studio.wording import policy_in_words, unmet_in_words
from studio.workspaces.views import WorkspacePage, add_errors
from versioning.domain.access import Right, roles_with
from versioning.domain.errors import Invalid
from versioning.models import Membership

BYPASSES: Final = (
    (Bypass.ADMIN.value, gettext_lazy("Admins, who have to say why")),
    (Bypass.NOBODY.value, gettext_lazy("No one")),
)


class PolicyForm(forms.Form):
    """How many approvals a version needs, and who may bypass them."""

    required = forms.TypedChoiceField(
        label=gettext_lazy("Approvals before a version goes live"),
        coerce=int,
        choices=[(number, str(number)) for number in range(MAX_REQUIRED + 1)],
        help_text=gettext_lazy("0 means that everyone with the right to publish can publish at once."),
    )
    bypass = forms.ChoiceField(label=gettext_lazy("Who may publish without approval"), choices=BYPASSES)


class PolicyPage(WorkspacePage):
    """The policy in words, and for admins a form."""

    asks_password_again = True
    tab = "review_policy"
    right = Right.READ_DRAFTS

    def get(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Show the policy."""
        policy = self._policy()
        return self.show(PolicyForm(initial={"required": policy.required, "bypass": policy.bypass}), policy)

    def post(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Change the policy, and show it again."""
        form = PolicyForm(request.POST)
        if not form.is_valid():
            return self.show(form, self._policy(), status=400)
        try:
            self.editor.review_policy.set(self.workspace_id, by=self.caller, **form.cleaned_data)
        except Invalid as error:
            add_errors(form, error)
            return self.show(form, self._policy(), status=400)
        message = _("Saved. It applies to everything that goes live from now on.")
        return self.go(self.address("review_policy"), message)

    def _policy(self) -> ReviewPolicy:
        found: ReviewPolicy = self.editor.review_policy.get(self.workspace.pk, by=self.caller)
        return found

    def _reviewers(self) -> int:
        """Return how many people may approve here: members who may publish, and superusers."""
        members = Membership.objects.filter(
            workspace=self.workspace.pk, role__in=roles_with(Right.PUBLISH), is_service=False
        )
        people = Q(pk__in=members.values("user")) | Q(is_superuser=True)
        return get_user_model()._default_manager.filter(people, is_active=True).count()

    def show(self, form: forms.Form, policy: ReviewPolicy, *, status: int = 200) -> HttpResponse:
        """Return the page."""
        context: dict[str, Any] = {
            "form": form,
            "sentences": policy_in_words(policy.required, policy.bypass),
            "warning": unmet_in_words(policy.required, self._reviewers()) if policy.required else "",
            "may_change": self.caller.may(Right.ADMINISTER, self.workspace_id),
        }
        return self.page("review/policy.html", title=_("Review policy"), status=status, **context)
