"""Typed reviews, the version of prompts, and the projection that the queue is read from."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

from review.acceptance.accept import rebuild_finding_states

# Paths sort by code points, as in SQLite and in Python.
COLLATE = """
ALTER TABLE review_finding_states
    ALTER note_path TYPE text COLLATE "C", ALTER gate_path TYPE text COLLATE "C"
"""


def fill(apps, schema_editor):
    connection = schema_editor.connection
    if connection.vendor == "postgresql":
        schema_editor.execute(COLLATE)
    rebuild_finding_states(
        tables=lambda name: apps.get_model("review", name).objects.using(connection.alias)
    )


class Migration(migrations.Migration):

    dependencies = [
        ('review', '0002_view_and_identity'),
    ]

    operations = [
        migrations.AddField(
            model_name='reviewjob',
            name='prompt_version',
            field=models.PositiveSmallIntegerField(db_default=1),
        ),
        migrations.AlterField(
            model_name='reviewpair',
            name='decision_source',
            field=models.CharField(blank=True, choices=[('result-line', 'Result Line'), ('declared', 'Declared'), ('typed', 'Typed')], default='', max_length=12),
        ),
        migrations.AlterField(
            model_name='reviewpair',
            name='not_accepted',
            field=models.CharField(blank=True, choices=[('superseded', 'Superseded'), ('decision-error', 'Decision Error'), ('decision-unknown', 'Decision Unknown'), ('partition-mismatch', 'Partition Mismatch'), ('quotes-of-another-note', 'Quotes Of Another Note')], default='', max_length=24),
        ),
        migrations.CreateModel(
            name='FindingState',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('note_path', models.TextField()),
                ('gate_path', models.TextField()),
                ('folder', models.TextField(blank=True)),
                ('ordinal', models.PositiveIntegerField()),
                ('decision', models.CharField(max_length=12)),
                ('severity', models.CharField(max_length=8)),
                ('fingerprint', models.CharField(db_index=True, max_length=16)),
                ('later_objections', models.PositiveIntegerField()),
                ('passed_in', models.TextField(blank=True, default='')),
                ('text_read_at', models.DateTimeField()),
                ('first_at', models.DateTimeField()),
                ('seen_before', models.CharField(max_length=12)),
                ('seen', models.CharField(max_length=12)),
                ('state', models.CharField(max_length=12)),
                ('decided_sha256', models.CharField(blank=True, default='', max_length=64)),
                ('event', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='review.acceptance')),
                ('finding', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='review.finding')),
                ('gate', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='review.kbpath')),
                ('gate_snapshot', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='review.filesnapshot')),
                ('model_partition', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='review.modelpartition')),
                ('note', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='review.kbpath')),
                ('pair', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='review.reviewpair')),
                ('read_snapshot', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='review.filesnapshot')),
            ],
            options={
                'db_table': 'review_finding_states',
                'indexes': [models.Index(fields=['note', 'gate'], name='finding_state_by_pair'), models.Index(fields=['note_path', 'gate_path', 'ordinal'], name='finding_state_order'), models.Index(fields=['gate', 'gate_snapshot', 'later_objections', 'state', 'severity', 'decision', 'seen', 'model_partition', 'folder', 'first_at', 'note', 'read_snapshot'], name='finding_state_facets'), models.Index(condition=models.Q(('state', 'deferred')), fields=['note'], name='finding_state_deferred')],
                'constraints': [models.UniqueConstraint(fields=('event', 'ordinal'), name='finding_state_once')],
            },
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
