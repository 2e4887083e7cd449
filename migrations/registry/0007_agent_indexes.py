"""Indexes for lists of big fleets, made beside running heartbeats."""

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently, TrigramExtension
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("registry", "0006_life_cycle")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE registry_agent VALIDATE CONSTRAINT agent_state_is_known", migrations.RunSQL.noop
        ),
        # A trusted extension: the owner of the database may create it.
        TrigramExtension(),
        AddIndexConcurrently(
            "agent", models.Index(fields=["environment", "name"], name="agent_by_environment")
        ),
        AddIndexConcurrently("agent", models.Index(fields=["state_since", "name"], name="agent_by_since")),
        AddIndexConcurrently("agent", models.Index(fields=["created_at", "name"], name="agent_by_creation")),
        AddIndexConcurrently(
            "agent", GinIndex(fields=["labels"], opclasses=["jsonb_path_ops"], name="agent_by_label")
        ),
        AddIndexConcurrently(
            "agent", GinIndex(fields=["service_types"], opclasses=["jsonb_path_ops"], name="agent_by_service")
        ),
        AddIndexConcurrently(
            "agent", GinIndex(fields=["name"], opclasses=["gin_trgm_ops"], name="agent_by_part_of_name")
        ),
    ]
