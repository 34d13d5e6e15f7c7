"""The arms of a rollout, and the arm of a request context: always the same for the same key. Pure.

    {"seed": "…", "bucketBy": "userId", "arms": [{"name": "new", "start": 0, "weight": 500, …}]}

The keys are spread evenly over ten thousand buckets. These are divided into as many equal ranges as there are
arms, and each arm takes its weight from the beginning of its own range, so widening one moves no key from one
arm to another. The service and the client follow the same rule.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final

from editor_client.shared import ids
from editor_client.shared.errors import Invalid, Issue, Message
from editor_client.shared.instructions import PATH

BUCKETS: Final = 10_000
MAX_ARMS: Final = 20
MAX_PATH: Final = 200
_PATH: Final = re.compile(PATH)
Shown = Mapping[str, Mapping[str, Any]]
MAX_KEY: Final = 2**53
"""From this number on, some programs cannot represent JSON numbers exactly."""


def choose_arm(rule: Mapping[str, Any] | None, context: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the arm of a context; None if it is in no arm, or there is no key or rule."""
    key = None if rule is None else key_in(context, rule["bucketBy"])
    if rule is None or key is None:
        return None
    number = bucket(rule["seed"], key)
    matching_arms = (arm for arm in rule["arms"] if 0 <= number - arm["start"] < arm["weight"])
    return next(matching_arms, None)


def describe_outcome(rule: Mapping[str, Any] | None, context: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the description of a rule in answers: its id, the arm, and the reason; None without a rule.

    The reason is `split`, or without an arm `noKey` or `outside`.
    """
    return None if rule is None else describe_arm(rule, choose_arm(rule, context), context)


def describe_arm(
    rule: Mapping[str, Any], arm: Mapping[str, Any] | None, context: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the result of `describe_outcome` for the arm that `choose_arm` has found."""
    if arm is not None:
        return {"id": rule["id"], "arm": arm["name"], "reason": "split"}
    reason = "noKey" if key_in(context, rule["bucketBy"]) is None else "outside"
    return {"id": rule["id"], "arm": None, "reason": reason}


def bucket(seed: str, key: str) -> int:
    """Return the bucket of a key."""
    digest = sha256(f"{seed}\n{key}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % BUCKETS


def key_in(context: Mapping[str, Any], path: str) -> str | None:
    """Return the key at a dotted path, which enters only objects; None for anything but a key.

    A text that is not blank is a key, in NFC form, and so is an integer, as its digits.
    """
    value: Any = context
    for segment in path.split("."):
        value = value.get(segment) if isinstance(value, Mapping) else None
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value) if value.strip() else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < MAX_KEY:  # nor NaN
        return None
    return str(int(value)) if value == int(value) else None


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A version that is served to a share of the requests."""

    name: str
    version_id: str
    weight: int
    """The number of its buckets, of ten thousand."""
    start: int = 0
    """The first bucket."""

    @classmethod
    def from_stored(cls, arm: Mapping[str, Any]) -> Arm:
        """Return an arm from its stored form."""
        return cls(**{name: arm[name] for name in ("name", "version_id", "weight", "start")})


def build_rule(
    rollout_id: str, seed: str, bucket_by: str, arms: Iterable[Arm], blocks: Shown = MappingProxyType({})
) -> dict[str, Any]:
    """Return the rule of `choose_arm` for clients; `blocks` has those that versions show, by id."""
    arm_rules = [
        {
            "name": arm.name,
            "start": arm.start,
            "weight": arm.weight,
            "resolvedVersionId": arm.version_id,
            **blocks.get(arm.version_id, {}),
        }
        for arm in arms
    ]
    return {"id": rollout_id, "seed": seed, "bucketBy": bucket_by, "arms": arm_rules}


def place_arms(arms: Sequence[Arm]) -> list[Arm]:
    """Return the arms with their first buckets; raises `Invalid` for invalid names and weights."""
    if not 1 <= len(arms) <= MAX_ARMS:
        raise Invalid.field("arms", Message("must be 1 to {most} arms", most=MAX_ARMS))
    starts = [number * BUCKETS // len(arms) for number in range(len(arms) + 1)]
    placed_arms = [replace(arm, start=start) for arm, start in zip(arms, starts, strict=False)]
    issues = [*_issues_of_names(arms)]
    for number, arm in enumerate(placed_arms):
        issues.extend(_issues_of_weight(f"arms.{number}.weight", arm.weight, starts[number + 1] - arm.start))
    if issues:
        raise Invalid(issues)
    return placed_arms


def reweight_arms(arms: Sequence[Arm], weights: Sequence[tuple[str, int]]) -> list[Arm]:
    """Return the arms, which stay in place, with other weights by name.

    Unnamed arms keep theirs. Raises `Invalid` for an unknown or repeated name, and for invalid weights; the
    fields are those of `weights`.
    """
    places = {arm.name: number for number, arm in enumerate(arms)}
    ends = [*(arm.start for arm in arms[1:]), BUCKETS]
    new_arms, issues, names = list(arms), list[Issue](), set[str]()
    for number, (name, weight) in enumerate(weights):
        if name not in places or name in names:
            problem = "is not an arm of this rollout" if name not in places else "occurs twice"
            issues.append(Issue(f"arms.{number}.name", problem))
            continue
        names.add(name)
        place = places[name]
        room = ends[place] - arms[place].start
        issues.extend(_issues_of_weight(f"arms.{number}.weight", weight, room))
        new_arms[place] = replace(arms[place], weight=weight)
    if issues:
        raise Invalid(issues)
    return new_arms


def refuse_path(field: str, path: str) -> None:
    """Raise `Invalid` unless the text is a path as in templates, such as `user.id`."""
    if len(path) > MAX_PATH or not _PATH.fullmatch(path):
        raise Invalid.field(field, "must be a path in the request context, such as user.id")


def _issues_of_names(arms: Sequence[Arm]) -> list[Issue]:
    issues, names = list[Issue](), set[str]()
    for number, arm in enumerate(arms):
        problem = ids.label_problem(arm.name)
        if problem is None and arm.name in names:
            problem = "occurs twice"
        if problem is not None:
            issues.append(Issue(f"arms.{number}.name", problem))
        names.add(arm.name)
    return issues


def _issues_of_weight(field: str, weight: int, room: int) -> list[Issue]:
    if 0 <= weight <= room:
        return []
    return [Issue(field, Message("must be 0 to {most}, in ten thousandths", most=room))]
