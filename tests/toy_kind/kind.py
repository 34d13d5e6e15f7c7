"""The kind of snippets: its fields and its names."""

from __future__ import annotations

from typing import Final

from versioning.domain.config import UNCHANGED, ConfigSchema, NotBlank, SharedFields
from versioning.domain.kinds import ResourceKind


class SnippetFields(SharedFields):
    """The fields of a snippet in an edit; an absent field is unchanged."""

    source: NotBlank = UNCHANGED
    language: NotBlank | None = None


class SnippetConfig(SnippetFields):
    """The complete configuration of a snippet."""

    name: NotBlank
    source: NotBlank


SNIPPET: Final = ResourceKind(
    slug="snippet",
    id_member="snippetId",
    namespace="snippet",
    singular="snippet",
    plural="snippets",
    path="snippets",
    icon="content_copy",
    text_field="source",
    schema=ConfigSchema(edit=SnippetFields, whole=SnippetConfig),
    studio_words="tests.toy_kind.studio.WORDS",
)
