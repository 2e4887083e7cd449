"""Copy publishing teams: each is a team now, and its publishers have the role publisher for it.

Nobody gains a right. A listed principal that had no role with agent_config.publish could not publish; if it
could read, it gets the role viewer for the team, so that it still sees the team's documents.
"""

import json

from django.db import migrations

PUBLISHING_ROLES = ('editor', 'admin')
READING_ROLES = (*PUBLISHING_ROLES, 'viewer')


def make_teams(apps, schema_editor):
    organisation = apps.get_model('access', 'Organisation').objects.get(slug='default')
    Team = apps.get_model('access', 'Team')
    PublishingTeam = apps.get_model('registry', 'PublishingTeam')
    with schema_editor.connection.cursor() as cursor:
        cursor.execute('SELECT name, organisation, publishers::text, version FROM registry_publishingteam ORDER BY name')
        rows = cursor.fetchall()
    for name, circle, publishers, version in rows:
        team, _ = Team.objects.get_or_create(organisation=organisation, slug=name)
        bind_publishers(apps, team, json.loads(publishers))
        # After the role bindings, which a trigger counts.
        PublishingTeam.objects.update_or_create(team=team, defaults={'organisation': circle, 'version': version})


def bind_publishers(apps, team, names):
    RoleBinding = apps.get_model('access', 'RoleBinding')
    for principal in apps.get_model('access', 'Principal').objects.filter(name__in=names).order_by('name'):
        roles = set(RoleBinding.objects.filter(principal=principal, owned_by=None).values_list('role', flat=True))
        if roles.isdisjoint(READING_ROLES):
            continue
        role = 'viewer' if roles.isdisjoint(PUBLISHING_ROLES) else 'publisher'
        RoleBinding.objects.get_or_create(
            principal=principal, role=role, owned_by=team, domain='', project='', workflow='', launch_plan='', via='manual'
        )


def make_publishing_teams(apps, schema_editor):
    """The old table is as the new one says; teams and role bindings stay."""
    RoleBinding = apps.get_model('access', 'RoleBinding')
    with schema_editor.connection.cursor() as cursor:
        cursor.execute('DELETE FROM registry_publishingteam')
        for row in apps.get_model('registry', 'PublishingTeam').objects.select_related('team'):
            bindings = RoleBinding.objects.filter(owned_by=row.team, role='publisher').exclude(principal=None)
            names = sorted(set(bindings.values_list('principal__name', flat=True)))
            cursor.execute(
                'INSERT INTO registry_publishingteam (name, organisation, publishers, version) VALUES (%s, %s, %s, %s)',
                [row.team.slug, row.organisation, json.dumps(names), row.version],
            )


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0005_publishing_teams'),
    ]

    operations = [
        migrations.RunPython(make_teams, make_publishing_teams),
    ]
