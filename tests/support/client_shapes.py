"""The records and arguments of the Python client, made of the OpenAPI document: `make client` writes them.

    python -m tests.support.client_shapes          # writes client/editor_client/manage/shapes.py
    python -m tests.support.client_shapes --check  # fails if that file is not what it would write

The schemas that methods of the client answer with or take are named here, with their names in Python. All
else follows from the document: members, types, what may be absent, and the sentences about them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any, Final

from editor_client.manage import records
from editor_client.result import members
from pydantic.alias_generators import to_snake
from ruff import find_ruff_bin

from tests.support.openapi import operations
from tests.support.service import ROOT

Schema = dict[str, Any]

FILE: Final = ROOT / "client/editor_client/manage/shapes.py"
KINDS: Final = {
    "Agent": ("an agent", "Shared"),
    "PromptBlock": ("a prompt block", "Shared"),
    "Scorer": ("a scorer", "Named"),
}
"""The kinds of resource, and the snapshot fields that they have by hand."""
OF_A_KIND: Final = {
    "Record": "Record",
    "VersionRecord": "Version",
    "Page": "Page",
    "VersionPage": "VersionPage",
    "Comparison": "Comparison",
}
"""The answers that each kind has."""
RECORDS: Final = {
    **{kind + schema: kind + own for kind in KINDS for schema, own in OF_A_KIND.items()},
    "ScorerProblem": "ScorerFault",
    "NotScorableAnswer": "NotScorable",
    "ScorerOutcome": "ScorerOutcome",
    "WorkspaceAnswer": "WorkspaceRecord",
    "WorkspacePage": "WorkspacePage",
    "MemberAnswer": "Member",
    "MemberPage": "MemberPage",
    "InvitationAnswer": "InvitationRecord",
    "InvitationCreated": "NewInvitation",
    "InvitationList": "InvitationList",
    "RoleInWorkspace": "RoleInWorkspace",
    "KeyInUse": "KeyInUse",
    "Me": "Identity",
    "ErasedPersonAnswer": "ErasedPerson",
    "KeyAnswer": "KeyRecord",
    "KeyCreated": "NewKey",
    "EndedSchedule": "EndedSchedule",
    "KeyRevoked": "RevokedKey",
    "KeyPage": "KeyPage",
    "ServiceAccountAnswer": "ServiceAccount",
    "ServiceAccountPage": "ServiceAccountPage",
    "CommentAnswer": "CommentRecord",
    "CommentPage": "CommentPage",
    "ItemAnswer": "ItemRecord",
    "Revised": "ItemRevision",
    "ItemHistory": "ItemHistory",
    "ItemsAdded": "ItemsAdded",
    "ItemsDeleted": "ItemsDeleted",
    "ItemPage": "ItemPage",
    "DatasetAnswer": "DatasetRecord",
    "DatasetVersionAnswer": "DatasetVersion",
    "DatasetPage": "DatasetPage",
    "DatasetVersionPage": "DatasetVersionPage",
    "FailedRowAnswer": "FailedRow",
    "ImportAnswer": "Imported",
    "GateAnswer": "GateRecord",
    "GatePage": "GatePage",
    "GateCheckedJudgement": "GateJudgement",
    "GateCheck": "GateCheck",
    "GateRunAnswer": "StartedExperiments",
    "ReleaseItemAnswer": "ReleaseItem",
    "ReleaseAnswer": "ReleaseRecord",
    "ReleaseConflict": "ReleaseConflict",
    "RevertAnswer": "Revert",
    "ProblemAnswer": "Problem",
    "CheckAnswer": "ReleaseCheck",
    "ReleasePage": "ReleasePage",
    "ReviewPolicyAnswer": "ReviewPolicy",
    "VerdictAnswer": "Verdict",
    "ReviewAnswer": "ReviewRecord",
    "ReviewPage": "ReviewPage",
    "ArmAnswer": "Arm",
    "RolloutAnswer": "RolloutRecord",
    "RolloutPage": "RolloutPage",
    "ThenAnswer": "Then",
    "ScheduleProblem": "ScheduleProblem",
    "ScheduleAnswer": "ScheduleRecord",
    "SchedulePage": "SchedulePage",
    "WebhookAnswer": "WebhookRecord",
    "WebhookCreated": "NewWebhook",
    "RotationAnswer": "RotatedSecret",
    "DeliveredEvent": "SentEvent",
    "AttemptAnswer": "Attempt",
    "DeliveryAnswer": "Delivery",
    "WebhookPage": "WebhookPage",
    "DeliveryPage": "DeliveryPage",
}
"""The schemas of answers, each behind those that it names."""
SHARED: Final = {"name", "description", "requestContextSchema"}
"""The fields that snapshots of several kinds have."""
BASES: Final = {
    "ItemRevision": "ItemRecord",
    "NewInvitation": "InvitationRecord",
    "NewKey": "KeyRecord",
    "NewWebhook": "WebhookRecord",
    "ReleaseRecord": "CachedResult",
    "RevokedKey": "Success",
    "Revert": "ReleaseRecord",
    "SentEvent": "LogEvent",
    **{f"{kind}{own}": f"{own}, {kind}Fields" for kind in KINDS for own in ("Record", "Version")},
}
"""What else than `Result` an answer is: it has the members of that."""
IDS: Final = {"KeyRecord": "prefix", "Member": "username", "ServiceAccount": "username"}
"""The member that identifies an entry of a list that has no `id`."""
SECRETS: Final = {
    ("NewInvitation", "url"),
    ("NewKey", "key"),
    ("NewWebhook", "secret"),
    ("RotatedSecret", "secret"),
}
"""Members that no `repr` shows."""
ABSENT: Final = {
    ("AgentRecord", "visibility"),
    ("ItemRecord", "groundTruth"),
    ("RevokedKey", "schedules"),
    ("ScheduleRecord", "problems"),
}
"""Members that earlier servers do not answer with."""
RENAMED: Final = {
    ("ItemPage", "items"): "item_records",
    ("ItemsAdded", "items"): "item_records",
    ("ScorerFields", "config"): "settings",  # `config` is the whole snapshot
}
"""Members with another name in Python, beside those that a mapping has already: they get an underscore."""
ENUMS: Final = {"ReviewStateName": "ReviewState", "VerdictName": "VerdictValue"}
"""Lists of values with another name in Python."""
ARGUMENTS: Final = {
    "CommentArguments": ("CommentCreate", {"resource", "versionId", "body"}),
    "CommentChanges": ("CommentUpdate", set[str]()),
    "DatasetArguments": ("DatasetUpdate", set[str]()),
    "NewDataset": ("DatasetCreate", set[str]()),
    "ItemChanges": ("ItemUpdate", set[str]()),
    "ItemFields": ("ItemCreate", set[str]()),
    "ItemArguments": ("ItemUpdate", {"input"}),
    "NewItem": ("ItemCreate", {"input"}),
    "GateChanges": ("GateUpdate", set[str]()),
    "KeyLimits": ("KeyCreate", {"name"}),
    "ReviewArguments": ("ReviewCreate", {"resource"}),
    "ReviewChanges": ("ReviewUpdate", set[str]()),
    "ScheduleTimes": ("ScheduleUpdate", set[str]()),
    "Tried": ("ScorerTry", {"input", "output"}),
    "WebhookArguments": ("WebhookCreate", {"workspaceId"}),
    "WebhookChanges": ("WebhookUpdate", set[str]()),
}
"""The keyword arguments of methods, by the schema of the body; without what has parameters of its own."""
FILTERS: Final = {
    "CommentFilters": "GET /comments",
    "ItemFilters": "GET /datasets/{}/items",
    "GateFilters": "GET /gates",
    "OfWorkspace": "GET /keys",
    "ReleaseFilters": "GET /releases",
    "ReviewFilters": "GET /reviews",
    "RolloutFilters": "GET /rollouts",
    "ScheduleFilters": "GET /schedules",
    "WebhookFilters": "GET /webhooks",
}
KNOWN: Final = {
    "Diff": "Diff",
    "GateRule": "Mapping[str, Any]",
    "NamedResource": "Reference",
    "NoticeAnswer": "Notice",
    "ReferencedResource": "Reference",
    "ReleasedResource": "Reference",
    "ResourceKind": "ResourceKind",
    "ResourceReference": "Reference",
    "ScorerType": "ScorerType",
}
"""What the client has by hand."""
FILTERED: Final = ("ResourceKind", "ReleaseState", "ReviewStateName", "RolloutState", "ScheduleState")
"""Lists of values that filters repeat."""
_PAGING: Final = {"page", "perPage", "orderBy[field]", "orderBy[direction]", "requestContext"}
_PLAIN: Final = {
    "boolean": "bool",
    "integer": "int",
    "null": "None",
    "number": "float",
    "object": "Mapping[str, Any]",
    "string": "str",
}
_TAKEN: Final = {"items", "keys", "values", "get"}
"""Names that every mapping has."""
_HEAD: Final = '''"""Results and arguments of the methods: made of the OpenAPI document by `make client`."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, TypedDict

from editor_client.calls import ResourceKind
from editor_client.manage.records import (
    Blocks,
    Conditional,
    Diff,
    Instructions,
    NamedArguments,
    NamedFields,
    Record,
    SharedArguments,
    SharedFields,
    Version,
)
from editor_client.methods import Page, Paging
from editor_client.reads.feed import LogEvent, Reference
from editor_client.result import CachedResult, Notice, Result, Success
from editor_client.shared.scores import ScorerType
'''


class Shapes:
    """The Python of the schemas that are named here."""

    def __init__(self, document: Schema) -> None:
        self._document = document
        self._schemas: dict[str, Schema] = document["components"]["schemas"]
        self._enums: dict[str, str] = {}
        self._named_values = [(ENUMS.get(name, name), set(self._schemas[name]["enum"])) for name in FILTERED]
        self._named_values.append(("bool", {"false", "true"}))

    def module(self) -> str:
        """Return the text of the module."""
        classes = [*self._snapshots(), *self._records(), *self._arguments(), *self._filters()]
        enums = [f"{name} = {values}" for name, values in sorted(self._enums.items())]
        return "\n".join([_HEAD, *enums, "", "", "\n\n\n".join(classes), ""])

    def _snapshots(self) -> Iterator[str]:
        """Yield the fields of the snapshots of agents and prompt blocks, as results and as arguments."""
        for kind, (noun, shared) in KINDS.items():
            snapshot = self._schemas[f"{kind}ToExport"]["properties"].keys() - SHARED
            members = self._schemas[f"{kind}Update"]["properties"].items()
            own = [(key, value) for key, value in members if key in snapshot]
            about = f"The fields of the snapshot of {noun}"
            lines = [f"class {kind}Fields({shared}Fields):", _docstring(f"{about}.")]
            for key, value in own:
                lines += self._member(
                    f"{kind}Fields", key, {"anyOf": [value, {"type": "null"}]}, required=False
                )
            yield _indented(lines)
            about += " as arguments."
            yield self._typed_dict(f"{kind}Arguments", f"{shared}Arguments", about, own, "Sequence")

    def _records(self) -> Iterator[str]:
        for name, own in RECORDS.items():
            schema = self._schemas[name]
            base = BASES.get(own, "Result")
            parent = {python: name for name, python in RECORDS.items()}.get(base, base)
            inherited = {*self._schemas.get(parent, {}).get("properties", {}), *self._of_a_kind(base)}
            properties = {key: value for key, value in schema["properties"].items() if key not in inherited}
            if own == "SentEvent":
                properties = {"position": properties["position"]}
            elif {"perPage", "pagination"} & properties.keys():
                properties = {key: value for key, value in properties.items() if value.get("type") == "array"}
                base = f"Page[{self._type(next(iter(properties.values()))['items'])}]"
            lines = [f"class {own}({base}):", _docstring(schema["description"])]
            for key, value in properties.items():
                lines += self._member(own, key, value, required=key in schema["required"])
            if own in IDS:
                lines += [
                    "",
                    "@property",
                    "def id(self) -> str:",
                    f'    """Its {IDS[own]}."""',
                    f"    return self.{IDS[own]}",
                ]
            yield _indented(lines)

    def _of_a_kind(self, bases: str) -> Iterator[str]:
        """Yield the members that a record or a version has by hand, and those of its snapshot."""
        by_hand, _, snapshot = bases.partition(", ")
        if snapshot:
            yield from (member.json_name for member in members(getattr(records, by_hand)))
            yield from self._schemas[f"{snapshot.removesuffix('Fields')}ToExport"]["properties"]

    def _member(self, own: str, key: str, value: Schema, *, required: bool) -> Iterator[str]:
        kind = self._type(value)
        default = ""
        if (own, key) in SECRETS:
            default = " = field(repr=False)"
        elif kind.endswith("| None"):
            default = " = None"
        elif not required or (own, key) in ABSENT:
            default = " = ()" if kind.startswith("tuple") else " = None"
            kind += "" if kind.startswith(("Any", "tuple")) else " | None"
        if (own, key) in RENAMED:
            absent = "default=None, " if default else ""
            default = f' = field({absent}metadata={{"json_name": "{key}"}})'
        ignored = "  # type: ignore[assignment]" if own == "SentEvent" else ""
        name = RENAMED.get((own, key)) or to_snake(key) + ("_" if key in _TAKEN else "")
        yield f"{name}: {kind}{default}{ignored}"
        if "description" in value:
            yield _docstring(value["description"])

    def _arguments(self) -> Iterator[str]:
        for own, (name, named) in ARGUMENTS.items():
            schema = self._schemas[name]
            members = {key: value for key, value in schema["properties"].items() if key not in named}
            lists = "Iterable" if own == "GateChanges" else "Sequence"
            yield self._typed_dict(own, "TypedDict", schema["description"], members.items(), lists)

    def _filters(self) -> Iterator[str]:
        for own, route in FILTERS.items():
            parameters = operations(self._document)[route]["parameters"]
            described = [
                (
                    one["name"],
                    {
                        **one["schema"],
                        **({"description": one["description"]} if "description" in one else {}),
                    },
                )
                for one in parameters
                if one["in"] == "query" and one["name"] not in _PAGING
            ]
            yield self._typed_dict(
                own, "Paging", f"The filters and the order of `{route}`.", described, "Sequence"
            )

    def _typed_dict(
        self, own: str, base: str, about: str, members: Iterable[tuple[str, Schema]], lists: str
    ) -> str:
        lines = [f"class {own}({base}, total=False):", _docstring(about)]
        for key, value in members:
            lines.append(f"{to_snake(key)}: {self._type(value, lists)}")
            if "description" in value:
                lines.append(_docstring(value["description"]))
        return _indented(lines)

    def _type(self, schema: Schema, lists: str = "tuple") -> str:
        """Return the type of a value in Python; arguments have other `lists`, and times that are texts."""
        kind = schema.get("type", "")
        options = [{**schema, "type": option} for option in kind] if isinstance(kind, list) else []
        options += [*schema.get("anyOf", []), *schema.get("oneOf", [])]
        if options:
            kinds = dict.fromkeys(" | ".join(self._type(option, lists) for option in options).split(" | "))
            return "Any" if "Any" in kinds else " | ".join(sorted(kinds, key="None".__eq__))
        if "$ref" in schema:
            return self._named(schema["$ref"].rpartition("/")[2], lists)
        values = schema.get("enum") or [schema[name] for name in ("const",) if name in schema]
        if values:
            named = [name for name, known in self._named_values if known == set(values)]
            return named[0] if named else _literal(values)
        if kind == "array":
            return f"{lists}[{self._type(schema['items'], lists)}{', ...' if lists == 'tuple' else ''}]"
        is_time = kind == "string" and schema.get("format") == "date-time" and lists == "tuple"
        return "datetime.datetime" if is_time else _PLAIN.get(kind, "Any")

    def _named(self, name: str, lists: str) -> str:
        """Return the type of a schema that has a name."""
        schema = self._schemas[name]
        if name == "Instructions" or name.endswith("OrVariants"):
            result, argument = (
                ("Instructions", "str | Blocks") if name == "Instructions" else ("Any", "Conditional")
            )
            return result if lists == "tuple" else argument
        if name in KNOWN:
            return KNOWN[name]
        if lists == "tuple" and name in RECORDS:
            return RECORDS[name]
        if "enum" in schema:
            self._enums[ENUMS.get(name, name)] = _literal(schema["enum"])
            return ENUMS.get(name, name)
        return self._type(schema, lists)


def _literal(values: list[Any]) -> str:
    return f"Literal[{', '.join(map(json.dumps, values))}]"


def _docstring(text: str) -> str:
    """Return a sentence of the document about Python: in its names, and with its values."""
    text = re.sub(r"`([a-z]+[A-Z]\w*)`", lambda name: f"`{to_snake(name[1])}`", text)
    for json_value, value in (("null", "None"), ("Null", "None"), ("`true`", "True"), ("`false`", "False")):
        text = re.sub(rf"(?<!\w){json_value}(?!\w)", value, text)
    summary, _, rest = text.partition(". ")
    lines = textwrap.wrap(text, 100)
    if rest and len(lines) > 1 and len(summary) <= 100:
        lines = [f"{summary}.", "", *textwrap.wrap(rest, 100)]
    return '"""' + "\n".join(lines) + ('\n"""' if len(lines) > 1 else '"""')


def _indented(lines: list[str]) -> str:
    first, docstring, *rest = lines
    body = textwrap.indent("\n".join(rest), "    ")
    return "\n".join([first, textwrap.indent(docstring, "    "), *(["", body] if rest else [])])


def module(document: Schema) -> str:
    """Return the module of an OpenAPI document, formatted as the project's code is."""
    command = [find_ruff_bin(), "format", "--stdin-filename", str(FILE), "-"]
    done = subprocess.run(
        command, input=Shapes(document).module(), capture_output=True, text=True, check=True
    )
    return done.stdout


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "editor_project.settings")
    django.setup()
    from versioning.api.openapi import document

    text = module(document())
    if "--check" not in sys.argv:
        FILE.write_text(text)
    elif text != FILE.read_text():
        sys.exit(f"{FILE.relative_to(ROOT)} is not what the OpenAPI document says: run `make client`")
