"""Apply a plan: make drafts, gathered in a release. Nothing goes live, and repeating it changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from editor_client.calls import SEGMENTS
from editor_client.errors import EditorError, Forbidden, Unauthorized, Unreachable
from editor_client.manage.records import Record
from editor_client.manage.releases import NewReleaseItem
from editor_client.manage.stored import KINDS, creation, edit
from editor_client.shared import canonical
from editor_client.shared.clipping import clip
from editor_client.sync import Client
from editor_client.transfer.folder import Place, changes, fetch, handle
from editor_client.transfer.importing.collection import Config, excerpt
from editor_client.transfer.importing.datasets import Changed, apply_dataset
from editor_client.transfer.importing.planning import UNMADE, build_origin

MAX_TITLE: Final = 200
MADE: Final = {"create", "update"}


@dataclass
class Report:
    """The results and the failures, in lines for people."""

    lines: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    refused: bool = False
    """Whether the server has refused a request."""


@dataclass
class Application:
    """The application of a plan."""

    client: Client
    plan: Mapping[str, Any]
    report: Report = field(default_factory=Report)
    _unmade: set[str] = field(default_factory=set, init=False)
    """The ids of resources that could not be made."""

    def run(self, title: str | None = None) -> Report:
        """Make the drafts and the release; earlier results are unchanged."""
        items: list[NewReleaseItem] = []
        for action in self.plan["resources"]:
            if action["action"] in UNMADE:
                self._problem(action, action["reason"])
            elif action["action"] in MADE:
                new_items: list[NewReleaseItem] = []
                try:
                    new_items = self._resource(action)
                except (Unauthorized, Unreachable):
                    raise
                except EditorError as error:
                    self._note_refusal(action, error)
                items += new_items
                if not new_items:
                    self._unmade.add(action["id"])
        for planned in self.plan["datasets"]:
            self._dataset(planned)
        if items:
            self._release(items, title)
        return self.report

    # Resources

    def _resource(self, action: Mapping[str, Any]) -> list[NewReleaseItem]:
        place = Place(SEGMENTS[action["kind"]], action["id"])
        remote = fetch(self.client, place)
        # The number of versions that this plan has made before.
        origin = None if remote is None else remote.record.metadata.get("origin")
        origins = [self._origin(action, version) for version in action["versions"]]
        saved_count = origins.index(origin) + 1 if origin in origins else 0
        at = None if remote is None else remote.record.latest_version_id
        if not saved_count and at != action["latestVersionId"]:
            self._problem(action, "it has changed since the plan was made; plan again")
            return []
        version_ids: dict[int, str] = {saved_count - 1: str(at)} if saved_count else {}
        record, config = (None, {}) if remote is None else (remote.record, remote.newest)
        for index in range(saved_count, len(action["versions"])):
            version = action["versions"][index]
            record = self._save(action, place, version, record, config)
            version_ids[index], config = str(record.latest_version_id), version["config"]
        if saved_count < len(action["versions"]):
            self.report.lines.append(f"saved: {_describe(action)}")
        self._set_labels(action, place, version_ids)
        version_id = self._choose_published(action, place, version_ids)
        return [{"kind": action["kind"], "id": action["id"], "version_id": version_id}]

    def _origin(self, action: Mapping[str, Any], version: Mapping[str, Any]) -> dict[str, Any]:
        return build_origin(self.plan["source"]["system"], action["name"], version)

    def _save(
        self,
        action: Mapping[str, Any],
        place: Place,
        version: Mapping[str, Any],
        base: Record | None,
        before: Config,
    ) -> Record:
        """Save a version as a draft."""
        saved = {
            "changeMessage": version["changeMessage"],
            "autoPublish": False,
            "metadata": {**action["metadata"], "origin": self._origin(action, version)},
        }
        if base is None:
            new = {"id": action["id"], "workspaceId": self.plan["workspaceId"], **version["config"], **saved}
            new_record: Record = self.client.perform(creation(KINDS[place.kind], new))
            return new_record
        edited = {**changes(version["config"], before), **saved}
        record: Record = self.client.perform(edit(handle(self.client, place), edited, base))
        return record

    def _set_labels(self, action: Mapping[str, Any], place: Place, version_ids: Mapping[int, str]) -> None:
        stored = handle(self.client, place)
        try:
            for index, version_id in version_ids.items():
                for label in action["versions"][index].get("labels", ()):
                    stored.set_label(label, version_id)
        except Forbidden as error:
            self._note_refusal(action, error)

    def _choose_published(
        self, action: Mapping[str, Any], place: Place, version_ids: Mapping[int, str]
    ) -> str:
        """Return the version that the source has published, or else the newest."""
        newest = version_ids[len(action["versions"]) - 1]
        published = action["published"]
        if published is None:
            return newest
        for index, version_id in sorted(version_ids.items(), reverse=True):
            if canonical.same(action["versions"][index]["config"], published["config"]):
                return version_id
        for version in handle(self.client, place).iter_versions():
            if canonical.same(version.config, published["config"]):
                return str(version.id)
        return newest

    def _dataset(self, planned: Mapping[str, Any]) -> None:
        about = {"kind": "dataset", "id": planned["name"]}
        if planned["action"] in UNMADE:
            self._problem(about, planned["reason"])
        elif planned["action"] in MADE:
            try:
                unmade = self._unmade_scorers(planned)
                if apply_dataset(self.client, planned, self.plan["workspaceId"], unmade):
                    self.report.lines.append(f"saved: {_describe(about)}, {len(planned['items'])} items")
            except (Unauthorized, Unreachable):
                raise
            except Changed as error:
                self._problem(about, str(error))
            except EditorError as error:
                self._note_refusal(about, error)

    def _unmade_scorers(self, planned: Mapping[str, Any]) -> set[str]:
        """Return the scorers of a dataset that could not be made, and note that it lacks them."""
        scorer_ids = {
            *planned["settings"].get("scorerIds", ()),
            *(scorer_id for item in planned["items"] for scorer_id in item.get("scorerIds", ())),
        }
        for scorer_id in sorted(unmade := self._unmade & scorer_ids):
            about = {"kind": "dataset", "id": planned["name"]}
            self._problem(about, f"made without the scorer {excerpt(scorer_id)}, which was not made")
        return unmade

    # The release

    def _release(self, items: Sequence[NewReleaseItem], title: str | None) -> None:
        """Gather the drafts in a release, which is found again by the digest of the plan."""
        source = self.plan["source"]
        mark = f"Plan {self.plan['planDigest']}"
        workspace = self.plan["workspaceId"]
        release = next(
            (
                release
                for release in self.client.iter_releases(workspace_id=workspace)
                if mark in release.description
            ),
            None,
        )
        if release is None:
            release_title = title or f"Import from {source['system']}: {excerpt(source['path'])}"
            description = f"Imported from {source['system']}. {mark}"
            release = self.client.create_release(
                workspace, clip(release_title, MAX_TITLE), description=description, items=items
            )
            self.report.lines.append(f"release: {release.id} ({excerpt(release.title)})")
        elif release.state == "draft" and len(release.items_) < len(items):
            self.client.get_release(release.id).update(items=items)
            self.report.lines.append(f"release: {release.id} ({excerpt(release.title)})")

    def _note_refusal(self, action: Mapping[str, Any], error: EditorError) -> None:
        self.report.refused = True
        self._problem(action, str(error))

    def _problem(self, action: Mapping[str, Any], reason: str) -> None:
        self.report.problems.append(f"{_describe(action)}: {reason}")


def _describe(action: Mapping[str, Any]) -> str:
    return f"{action['kind']} {excerpt(action['id'])}"
