"""As whom an experiment runs: whoever started it, with the rights that they have now."""

from __future__ import annotations

from evaluation.experiments.models import Experiment
from versioning.domain.access import APPLICATION, Action, Caller, Right, Via
from versioning.domain.errors import Forbidden, Message
from versioning.models import ApiKey, caller_for


def caller_of(experiment: Experiment) -> Caller:
    """Return who started an experiment; raises `Forbidden` if they may not start it any more."""
    if experiment.key_prefix:
        key = ApiKey.objects.select_related("owner").filter(prefix=experiment.key_prefix).first()
        if key is None or not key.usable:
            raise Forbidden(Message("The API key that started it cannot be used any more."))
        caller = key.caller()
        caller.require_action(Action.RUN)
    elif not experiment.author_name:
        caller = APPLICATION
    else:
        author = experiment.author
        if author is None or not author.is_active:
            message = Message("The account {name!r} is gone, or switched off.", name=experiment.author_name)
            raise Forbidden(message)
        caller = caller_for(author, Via.API)
    caller.require(Right.SAVE, experiment.workspace_id)
    return caller
