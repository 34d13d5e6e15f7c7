"""The bodies and answers for stored resources, derived from the description of each kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, get_type_hints

from pydantic import ConfigDict, create_model

from versioning.api.schemas import common, records, versions
from versioning.api.schemas.base import RequestSchema, ResponseSchema, Source
from versioning.api.schemas.records import TakeDownOptions
from versioning.domain.config import UNCHANGED, ConfigSchema, Shape, Visibility
from versioning.domain.kinds import ResourceKind


class ToExport(RequestSchema):
    """The fields to write to a file; others are omitted."""

    model_config = ConfigDict(extra="allow")


class Proposal(RequestSchema):
    """The members of a change request besides the proposed fields."""

    change_message: str | None = None
    inspect_only: bool = UNCHANGED


class ChangeRequestAnswer(ResponseSchema):
    """A change proposed to a repository."""

    url: str
    ref: str
    id: str | None


def requests_of(kind: ResourceKind) -> Mapping[str, type[RequestSchema]]:
    """Return the request bodies of a kind, by action.

    `override_create` and `override_update` are the bodies for code-defined resources, if code can define the
    kind.
    """
    name, a_kind = kind.schema_name, kind.with_article
    schema, visibility = kind.schema, (records.HasVisibility,) if kind.has_visibility else ()
    exported = f"The fields of {a_kind} to be written into a file; anything else is left out of it."
    found = {
        "create": _schema(
            f"{name}Create", f"A new {kind.singular}.", schema.whole, records.Created, *visibility
        ),
        "update": _schema(f"{name}Update", f"An edit of {a_kind}.", schema.edit, records.Saved, *visibility),
        "export": _schema(f"{name}ToExport", exported, _nothing_required(schema), ToExport),
        "clone": records.Clone,
        "add_version": versions.VersionCreate,
        "activate": versions.Activate,
        "restore": versions.VersionCreate,
        "set_label": versions.SetLabel,
        "unpublish": TakeDownOptions,
    }
    if kind.override_schema is not None:
        fields = _nothing_required(schema)
        proposed = "The body of a change request: the fields to propose, and why."
        created, saved = f"A new override of {a_kind} that code defines.", "An edit of an override."
        found |= {
            "override_create": _schema("OverrideCreate", created, fields, records.Created, *visibility),
            "override_update": _schema("OverrideUpdate", saved, fields, records.Saved, *visibility),
            "change_request": _schema("ChangeRequest", proposed, Proposal, schema.edit),
        }
    return found


def responses_of(kind: ResourceKind) -> Mapping[str, type[ResponseSchema]]:
    """Return the answers of a kind, by action."""
    name, a_kind, (stored, several) = kind.schema_name, kind.with_article, kind.stored
    fields = (kind.override_schema or kind.schema).whole
    record = _schema(
        f"{name}Record",
        f"A {stored}.",
        records.Record,
        fields,
        **{"visibility": (Visibility, ...)} if kind.has_visibility else {},
    )
    version = _schema(
        f"{name}VersionRecord",
        f"A version of {a_kind}.",
        versions.VersionRecord,
        fields,
        **{_python(kind.id_member): (Annotated[str, Source("resource.pk")], ...)},
    )
    compared = {"from_version": (version, ...), "to_version": (version, ...)}
    return {
        **dict.fromkeys(("create", "retrieve", "update", "clone", "unpublish"), record),
        **dict.fromkeys(("add_version", "version", "restore"), version),
        **dict.fromkeys(("destroy", "destroy_version", "remove_label"), common.Success),
        "list": _page(f"{name}Page", f"A page of {several}.", kind.wire_plural, record),
        "versions": _page(f"{name}VersionPage", f"A page of versions of {a_kind}.", "versions", version),
        "compare": _schema(
            f"{name}Comparison", f"Two versions of {a_kind}.", versions.Comparison, **compared
        ),
        "export": _schema(
            f"{name}Export",
            f"{a_kind[0].upper()}{a_kind[1:]}'s configuration as a file.",
            records.Export,
            **{_python(kind.id_member): (Annotated[str, Source("resource_id")], ...)},
        ),
        "dependents": records.DependentsAnswer,
        "activate": versions.Activated,
        "favorite": records.FavoriteAnswer,
        "unfavorite": records.FavoriteAnswer,
        "labels": versions.LabelList,
        "set_label": versions.LabelAnswer,
    }


def _schema(name: str, doc: str, /, *bases: type[Shape], **fields: Any) -> Any:
    return create_model(name, __base__=bases, __doc__=doc, **fields)


def _page(name: str, doc: str, member: str, item: type[ResponseSchema]) -> Any:
    fields = {_python(member): (Annotated[list[item], Source("items")], ...)}  # type: ignore[valid-type]
    return _schema(name, doc, common.PageOf, **fields)


def _nothing_required(schema: ConfigSchema) -> type[Shape]:
    """Return the fields of an edit, none of which is required: null clears each of them."""
    types = get_type_hints(schema.whole, include_extras=True)
    required = (name for name, field in schema.whole.model_fields.items() if field.is_required())
    optional: Any = {name: (types[name] | None, None) for name in required}
    made: type[Shape] = _schema("Optional", "The fields; none is required.", schema.edit, **optional)
    return made


def _python(member: str) -> str:
    """Return the Python name of a member in camelCase."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in member)
