"""The page of a rollout: its numbers side by side, new shares, stopping it, and making an arm live."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy
from editor_client.shared.arms import Arm

from capabilities.rollouts.ending import END_ROLLOUT
from capabilities.rollouts.models import Rollout, RolloutStep, State, StepState
from capabilities.rollouts.studio.forms import StopForm, WeightsForm, percent
from capabilities.rollouts.studio.links import of_completing, of_form, of_rollout
from capabilities.rollouts.studio.numbers import (
    arms_in_words,
    compared_in_words,
    numbers_of,
    runs_without_key,
    with_versions,
)
from capabilities.rollouts.verbs import RolloutEnded, Rollouts
from studio.diff.fields import unchanged_titles
from studio.diff.views import DifferencesPage
from studio.publishing.views import obstacle_to
from studio.resources.base import ResourcePage
from studio.translation import reference_to, title_of, translated
from versioning.domain.access import Right
from versioning.domain.errors import Conflict, Forbidden, Invalid, NotFound
from versioning.domain.snapshots import Snapshot
from versioning.models import Event, VersionedResource, WorkerHeartbeat

STEP_STATES: Final = {
    StepState.WAITING.value: pgettext_lazy("step", "waiting"),
    StepState.DONE.value: pgettext_lazy("step", "done"),
    StepState.FAILED.value: pgettext_lazy("step", "failed"),
    StepState.CANCELLED.value: pgettext_lazy("step", "cancelled"),
}
STATES: Final = {
    State.RUNNING.value: pgettext_lazy("rollout", "Running"),
    State.STOPPED.value: pgettext_lazy("rollout", "Stopped"),
    State.COMPLETED.value: pgettext_lazy("rollout", "Completed"),
}
EARLIER = 20
"""How many earlier rollouts the page lists."""


class OneRollout(ResourcePage):
    """A page about one rollout of the resource, for people who may read its drafts."""

    tab = "rollouts"
    right = Right.READ_DRAFTS

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Take the id of the rollout and the name of an arm from the address."""
        super().setup(request, *args, **kwargs)
        self.rollout_id, self.arm_name = kwargs.get("rollout", ""), kwargs.get("arm", "")

    @cached_property
    def rollout(self) -> Rollout:
        """The rollout; raises `NotFound` if it is of another resource."""
        self.require(self.right)
        found = Rollouts.current().find(self.rollout_id, by=self.caller)
        if (found.kind, found.resource_id) != (self.kind.slug, self.resource_id):
            raise NotFound
        return found

    @property
    def found(self) -> VersionedResource:
        if self.resource is None:
            raise NotFound
        return self.resource

    def show(self, *, status: int = 200, **context: Any) -> HttpResponse:
        """Return the page of the rollout."""
        rollout = self.rollout
        is_running, may_publish = rollout.state == State.RUNNING, self.may(Right.PUBLISH)
        arms = rollout.placed_arms
        steps = list(rollout.steps.all()) if self.may(Right.PUBLISH) else []
        may_cancel = is_running and any(step.state == StepState.WAITING for step in steps)
        numbers = with_versions(numbers_of(rollout, self.found.active_id, self.caller), self.found)
        return self.page(
            "experiments/rollout.html",
            title=_("Rollout"),
            status=status,
            **{
                "rollout": rollout,
                "is_running": is_running,
                "state": STATES[rollout.state],
                **({} if is_running else self.ending(rollout)),
                "steps": [(step, percent(step.weight), STEP_STATES[step.state]) for step in steps],
                "silence": WorkerHeartbeat.objects.silence() if may_cancel else None,
                "cancel_steps_address": of_rollout(rollout, "rollout_steps") if may_cancel else "",
                "numbers": [(number, self.address("version", number.version_id)) for number in numbers],
                "compared": [
                    said for number in numbers[:-1] if (said := compared_in_words(number, numbers[-1]))
                ],
                "runs_without_key": runs_without_key(rollout) if is_running else 0,
                "has_intervals": any(number.has_intervals for number in numbers),
                "arms_in_words": arms_in_words(arms),
                "may_change": is_running and may_publish,
                "weights_form": WeightsForm(arms=arms) if is_running and may_publish else None,
                "stop_form": StopForm(),
                "stop_address": of_rollout(rollout, "rollout_stop"),
                "weights_address": of_rollout(rollout, "rollout_weights"),
                "completing": [(arm.name, of_completing(rollout, arm.name)) for arm in arms],
                "restart_address": of_form(self.kind, self.resource_id, arms[0].version_id)
                if rollout.state == State.STOPPED and may_publish
                else "",
                "earlier": self.earlier(rollout),
                **context,
            },
        )

    def ending(self, rollout: Rollout) -> dict[str, Any]:
        """Return who ended the rollout, and with which arm, as long as the log knows it."""
        entries = Event.objects.filter(
            type=f"rollout.{rollout.state}",
            resource_id=rollout.resource_id,
            detail__rolloutId=str(rollout.pk),
        )
        entry = entries.order_by("-position").first()
        return {"ended_by": entry.actor, "ended_arm": entry.detail.get("arm")} if entry else {}

    def earlier(self, shown: Rollout) -> list[tuple[Rollout, str, str]]:
        """Return the other rollouts of the resource, each with its arms in words and its address."""
        others = Rollouts.current().list(kind=self.kind.slug, resource_id=self.resource_id, by=self.caller)
        found = others.filter(identity=shown.identity).exclude(pk=shown.pk)[:EARLIER]
        return [(one, arms_in_words(one.placed_arms), of_rollout(one)) for one in found]


class RolloutPage(OneRollout):
    """Shows a rollout."""

    def get(self, request: HttpRequest, resource: str, **_ids: str) -> HttpResponse:
        """Show the rollout."""
        self.listen({"resource_kind": self.kind.slug, "resource_id": self.resource_id})
        return self.show()


class LatestRolloutPage(RolloutPage):
    """Shows the running rollout, or the last one; or explains how to start one."""

    @cached_property
    def rollout(self) -> Rollout:
        """The newest rollout of the resource; raises `NotFound` if there was none."""
        self.require(self.right)
        found = Rollouts.current().list(kind=self.kind.slug, resource_id=self.resource_id, by=self.caller)
        newest = found.order_by("-started_at").first()
        if newest is None:
            raise NotFound
        return newest

    def show(self, *, status: int = 200, **context: Any) -> HttpResponse:
        """Return the page of the rollout, or the one that explains how to start one."""
        try:
            _newest = self.rollout
        except NotFound:
            start = self.address("share") if self.may(Right.PUBLISH) and self.resource else ""
            title = _("Rollout")
            return self.page("experiments/none.html", title=title, start_address=start)
        return super().show(status=status, **context)


class Target(OneRollout):
    """The target of a form on the page of a rollout."""

    right = Right.PUBLISH

    def get(self, request: HttpRequest, resource: str, **_ids: str) -> HttpResponse:
        """Redirect to the page of the rollout, which has the form."""
        return self.go(of_rollout(self.rollout))


class WeightsPage(Target):
    """Changes the shares of a rollout's arms."""

    def post(self, request: HttpRequest, resource: str, **_ids: str) -> HttpResponse:
        """Change them; after an error, show the form again."""
        form = WeightsForm(request.POST, arms=self.rollout.placed_arms)
        if not form.is_valid():
            return self.show(status=400, weights_form=form)
        try:
            changed = Rollouts.current().change(self.rollout_id, form.weights(), by=self.caller)
        except Invalid as error:
            form.add(error)
            return self.show(status=400, weights_form=form)
        except RolloutEnded as error:
            return self.go(of_rollout(self.rollout), error.message)
        except (Conflict, Forbidden) as error:  # of the gate
            form.add_error(None, translated(error.message))
            return self.show(status=400, weights_form=form)
        message = _("Share changed: %(shares)s.") % {"shares": arms_in_words(changed.placed_arms)}
        return self.go(of_rollout(changed), message)


class StepsPage(Target):
    """Cancels the steps that still wait."""

    def post(self, request: HttpRequest, resource: str, **_ids: str) -> HttpResponse:
        """Cancel them."""
        RolloutStep.objects.of(self.rollout).cancel()
        return self.go(of_rollout(self.rollout), _("Steps cancelled. The share stays as it is."))


class StopPage(Target):
    """Stops a rollout: everyone gets the live version."""

    def post(self, request: HttpRequest, resource: str, **_ids: str) -> HttpResponse:
        form = StopForm(request.POST)
        if not form.is_valid():
            return self.show(status=400, stop_form=form)
        try:
            reason = form.cleaned_data["reason"]
            Rollouts.current().stop(str(self.rollout.pk), reason=reason, by=self.caller)
        except Invalid as error:
            form.add_error("reason", error.issues[0].message)
            return self.show(status=400, stop_form=form)
        except RolloutEnded as error:
            return self.go(of_rollout(self.rollout), error.message)
        return self.go(of_rollout(self.rollout), _("Rollout stopped. Everyone gets the live version."))


class CompletePage(OneRollout, DifferencesPage):
    """Shows what changes for everyone else, and makes the version of an arm live."""

    right = Right.PUBLISH

    @cached_property
    def arm(self) -> Arm:
        """The arm; raises `NotFound` for an unknown name."""
        found = next(
            (placed_arm for placed_arm in self.rollout.placed_arms if placed_arm.name == self.arm_name), None
        )
        if found is None:
            raise NotFound
        return found

    def get(self, request: HttpRequest, resource: str, **_ids: str) -> HttpResponse:
        """Ask for confirmation."""
        return self.ask()

    def post(self, request: HttpRequest, resource: str, **_ids: str) -> HttpResponse:
        """Make it live, unless another version went live since the page was opened."""
        if request.POST.get("live", "") != (self.found.active_id or ""):
            return self.ask(status=409, is_changed=True)
        version = self.version()
        try:
            Rollouts.current().complete(str(self.rollout.pk), self.arm.name, by=self.caller)
        except RolloutEnded as error:
            return self.go(of_rollout(self.rollout), error.message)
        except (Invalid, Conflict):
            return self.ask(status=409)
        except Forbidden:
            self.require(Right.PUBLISH)
            return self.ask(status=403)
        return self.back("history", _("%(version)s is live.") % {"version": title_of(version)})

    def version(self) -> Snapshot:
        """Return the version of the arm."""
        found: Snapshot = self.collection.version(
            self.resource_id, self.arm.version_id, by=self.caller
        ).version
        return found

    def ask(self, *, status: int = 200, **context: Any) -> HttpResponse:
        """Return the page that asks for confirmation."""
        version, live = self.version(), self.found.active
        fields = self.effects(live, version)
        return self.page(
            "experiments/complete.html",
            title=_("Make “%(arm)s” live?") % {"arm": self.arm.name},
            status=status,
            rollout=self.rollout,
            is_running=self.rollout.state == State.RUNNING,
            version=version,
            version_title=reference_to(version),
            live=live,
            live_title=title_of(live) if live else "",
            before_title=title_of(live) if live else _("Nothing live"),
            after_title=title_of(version),
            fields=fields,
            unchanged=unchanged_titles(fields, self.effective(version)),
            obstacle=obstacle_to(self.found, version, self.caller, {END_ROLLOUT: True}),
            back_address=of_rollout(self.rollout),
            **context,
        )
