"""Forget configurations that were arms of rollouts and never active: having been one exempts from no review.

The log names every version that became active. Where it was pruned, older records stay.
"""

import uuid

from django.db import migrations

KINDS = {"agent": ("versioning", "Agent"), "promptBlock": ("versioning", "PromptBlock")}
AT_ONCE = 500


def forget_arms(apps, _schema_editor):
    """Delete the rows of versions that the log, which is older than they are, does not name as published."""
    events = apps.get_model("versioning", "Event")._default_manager
    oldest = events.order_by("position").values_list("created_at", flat=True).first()
    if oldest is None:
        return
    recorded = apps.get_model("review", "PublishedConfiguration")._default_manager
    for kind, (app, model) in KINDS.items():
        resources = apps.get_model(app, model)._default_manager
        versions = apps.get_model(app, f"{model}Version")._default_manager
        rows = list(
            recorded.filter(kind=kind, number__gt=0).order_by("pk").values_list("pk", "resource_id", "number")
        )
        for start in range(0, len(rows), AT_ONCE):
            some = rows[start : start + AT_ONCE]
            ids = {resource_id for _, resource_id, _ in some}
            known = {
                (resource_id, number): str(pk)
                for pk, resource_id, number in versions.filter(
                    resource_id__in=ids, created_at__gte=oldest
                ).values_list("pk", "resource_id", "number")
            }
            entries = events.filter(resource_kind=kind, resource_id__in=ids)
            live = set(entries.filter(type=f"{kind}.published").values_list("version_id", flat=True))
            live |= set(
                entries.filter(type__in=[f"{kind}.published", f"{kind}.unpublished"]).values_list(
                    "previous_version_id", flat=True
                )
            )
            active = resources.filter(pk__in=ids).exclude(active_version=None)
            live |= {str(uuid.UUID(str(pk))) for pk in active.values_list("active_version_id", flat=True)}
            never = [
                pk
                for pk, resource_id, number in some
                if (version := known.get((resource_id, number))) is not None and version not in live
            ]
            recorded.filter(pk__in=never).delete()


class Migration(migrations.Migration):
    dependencies = [("review", "0005_looks"), ("versioning", "0027_ever_published")]

    operations = [migrations.RunPython(forget_arms, migrations.RunPython.noop)]
