from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('events', '0005_event_trace'),
    ]

    operations = [
        migrations.CreateModel(
            name='LostEvents',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('after', models.BigIntegerField()),
                ('until', models.BigIntegerField()),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('after__lt', models.F('until'))), name='lost_events_are_some')],
            },
        ),
    ]
