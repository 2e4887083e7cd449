"""Settings: one concern per file, driven by the environment. `base` gathers them.

Choose one of `dev` (the default of manage.py and `make up`), `test` and `production` with
DJANGO_SETTINGS_MODULE. All settings are listed in docs/settings.md.
"""
