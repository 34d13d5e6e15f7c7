"""The base of the pages about the version from which the next edit starts."""

from __future__ import annotations

from functools import cached_property

from studio.editing.forms import Submission
from studio.examples import ContextForm, Examples
from studio.forms.inputs import Input
from studio.resources.base import ResourcePage
from versioning.domain.access import Right
from versioning.domain.config import Config, ConfigSchema
from versioning.domain.errors import NotFound
from versioning.domain.snapshots import Snapshot


class EditablePage(ResourcePage):
    offers_taken_back = True

    @cached_property
    def base(self) -> Snapshot | None:
        """The version to start from: the latest, or the published one for callers without access to drafts.

        If the latest was taken back, this is the live one. None if that is the code of an agent.
        """
        if self.resource is None:
            return None
        is_live = self.taken_back is not None or not self.may(Right.READ_DRAFTS)
        return self.resource.active if is_live else self.resource.base

    @property
    def config(self) -> Config:
        return self.base.config if self.base else {}

    @cached_property
    def schema(self) -> ConfigSchema:
        return self.collection.schema_of(self.resource_id)

    @property
    def names(self) -> list[str]:
        """The fields of the form: those that this configuration has or needs."""
        needs, config = self.kind.words.needs, self.config
        return [name for name in self.schema.names if name in config or needs(name, config)]

    def find_config(self, version_id: str) -> Config | None:
        """Return the configuration of a version: empty without an id, None if the version was deleted."""
        if not version_id:
            return {}
        if self.base and self.base.version_id == version_id:
            return self.config
        try:
            return self.collection.version(self.resource_id, version_id, by=self.caller).version.config
        except NotFound:
            return None

    def context_form(self, *configs: Config, drafts: bool) -> ContextForm:
        """Return an empty form for a context; `drafts` are those of prompt blocks in the configurations."""
        examples = Examples.of(self.kind, self.resource_id, self.resource, self.caller)
        return ContextForm.of(configs, examples, drafts=drafts)

    def submission(self, controls: Input) -> Submission:
        began_with = self.find_config(controls["base"].typed)
        return Submission.read(controls, began_with, self.config, self.schema.names)
