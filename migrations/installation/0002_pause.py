"""The row that says whether changes are paused, and the function by which all tables look at it."""

import django.db.models.functions.datetime
from django.db import migrations, models

# The row is read by each statement that writes, so the function is as short as it can be.
FUNCTION = """
INSERT INTO installation_pause (id) VALUES (1);

CREATE FUNCTION installation_refuse_changes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    why text;
BEGIN
    SELECT reason INTO why FROM public.installation_pause WHERE is_on;
    IF FOUND THEN
        RAISE EXCEPTION 'changes are paused: %', why
              USING ERRCODE = 'read_only_sql_transaction', DETAIL = why, CONSTRAINT = 'installation_pause';
    END IF;
    RETURN NULL;
END $$;
"""
NO_FUNCTION = "DROP FUNCTION installation_refuse_changes() CASCADE"


class Migration(migrations.Migration):

    dependencies = [
        ('installation', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Pause',
            fields=[
                ('id', models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('is_on', models.BooleanField(db_default=False)),
                ('reason', models.CharField(db_default='', max_length=200)),
                ('since', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('set_by', models.CharField(db_default='', max_length=63)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='pause_is_one_row')],
            },
        ),
        migrations.RunSQL(FUNCTION, NO_FUNCTION),
    ]
