"""Turn the schemas of the API into the components of the OpenAPI document.

Each rule here suits generators of clients: a component has the name of its class, which must be unique; an
optional member is just not required, without a default and without a title; null is allowed only where it
is a possible value.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from drf_spectacular.drainage import set_override
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import DictSchema, ModelSchema, NullableSchema, WithDefaultSchema

_ADDRESS = "#/components/schemas/{model}"


class PlainJsonSchema(GenerateJsonSchema):
    """Generates JSON Schema in the form that client generators understand best."""

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        """Omit the default: it only marks an optional member, which generators would require."""
        return self.generate_inner(schema["schema"])

    def nullable_schema(self, schema: NullableSchema) -> JsonSchemaValue:
        """Write `"type": ["string", "null"]` instead of a union with null."""
        inner = self.generate_inner(schema["schema"])
        if isinstance(inner.get("type"), str) and not inner.keys() & {"enum", "const"}:
            return {**inner, "type": [inner["type"], "null"]}
        return self.get_union_of_schemas([inner, {"type": "null"}])

    def dict_schema(self, schema: DictSchema) -> JsonSchemaValue:
        """Describe the keys separately if all values have one type."""
        described = {
            "type": "object",
            "additionalProperties": self.generate_inner(schema["values_schema"]) or True,
        }
        keys = self.generate_inner(schema["keys_schema"])
        limits = {name: value for name, value in keys.items() if name != "type"}
        return {**described, "propertyNames": limits} if limits else described

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        """Omit the title, which would repeat the name."""
        described = super().model_schema(schema)
        described.pop("title", None)
        return described

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Omit the titles of members, which would repeat their names."""
        return False


class ShapeExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Describes the classes of `versioning.api.schemas` to drf-spectacular."""

    target_class = BaseModel
    match_subclasses = True
    priority = 1

    def get_name(self, auto_schema: AutoSchema, direction: str) -> str:
        """Return the name of the component: the name of the class."""
        set_override(self.target, "suppress_collision_warning", True)  # noqa: FBT003  here it is an error
        name = str(self.target.__name__)
        _check(auto_schema, name, _described(self.target)[name])
        return name

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> JsonSchemaValue:
        """Return the schema of the class, and register the schemas that it refers to."""
        components = _described(self.target)
        for name, schema in components.items():
            _check(auto_schema, name, schema)
            auto_schema.registry.register_on_missing(_component(name, schema))
        return components[self.target.__name__]


@cache
def _described(shape: type[BaseModel]) -> dict[str, JsonSchemaValue]:
    """Return the schemas of a class and of everything that it refers to, by name."""
    schema = shape.model_json_schema(
        ref_template=_ADDRESS, schema_generator=PlainJsonSchema, mode="validation"
    )
    return {**schema.pop("$defs", {}), shape.__name__: schema}


def _check(auto_schema: AutoSchema, name: str, schema: JsonSchemaValue) -> None:
    """Raise `ImproperlyConfigured` if two schemas have the same name."""
    component = _component(name, schema)
    known = auto_schema.registry[component].schema if component in auto_schema.registry else None
    if "__" in name or (known is not None and known != schema):
        raise ImproperlyConfigured(f"Two shapes of the API are called {name}: give one another name.")


def _component(name: str, schema: JsonSchemaValue) -> ResolvedComponent:
    return ResolvedComponent(  # type: ignore[no-untyped-call]
        name=name, type=ResolvedComponent.SCHEMA, object=name, schema=schema
    )
