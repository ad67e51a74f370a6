"""The view for people with an SQL shell, and the row that says which store this is."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from django.db import migrations
from django.db.models import Max

VIEW = """
CREATE VIEW current_gate_acceptances AS
SELECT note.path AS note_path,
       gate.path AS gate_path,
       part.name AS model_partition,
       event.kind AS kind,
       event.accepted_review_pair_id AS accepted_review_pair_id,
       event.decision AS decision,
       event.accepted_note_snapshot_id AS accepted_note_snapshot_id,
       event.accepted_gate_snapshot_id AS accepted_gate_snapshot_id,
       note_text.content_sha256 AS accepted_note_hash,
       gate_text.content_sha256 AS accepted_gate_hash,
       event.accepted_at AS accepted_at,
       event.actor AS actor
FROM review_current_acceptances AS now_accepted
JOIN acceptance_events AS event ON event.id = now_accepted.event_id
JOIN review_paths AS note ON note.id = now_accepted.note_id
JOIN review_paths AS gate ON gate.id = now_accepted.gate_id
JOIN review_model_partitions AS part ON part.id = now_accepted.model_partition_id
JOIN review_file_snapshots AS note_text ON note_text.id = now_accepted.note_snapshot_id
JOIN review_file_snapshots AS gate_text ON gate_text.id = now_accepted.gate_snapshot_id
"""


def name_the_store(apps, schema_editor):
    alias = schema_editor.connection.alias
    jobs = apps.get_model("review", "ReviewJob").objects.using(alias)
    last = jobs.aggregate(last=Max("pk"))["last"] or 0
    apps.get_model("review", "ReviewStore").objects.using(alias).create(
        pk=1, store_id=uuid.uuid4().hex, created_at=datetime.now(UTC), next_job_id=last + 1
    )


def forget_the_name(apps, schema_editor):
    stores = apps.get_model("review", "ReviewStore").objects.using(schema_editor.connection.alias)
    stores.all().delete()


class Migration(migrations.Migration):
    dependencies = [("review", "0001_initial")]
    operations = [
        migrations.RunPython(name_the_store, forget_the_name),
        migrations.RunSQL(VIEW, "DROP VIEW current_gate_acceptances"),
    ]
