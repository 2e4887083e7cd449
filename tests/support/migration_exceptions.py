"""Migrations that were written before the rules for them, and the rules they break. None is added here."""

EXCEPTIONS: dict[str, str] = {
    "access.0002_teams": "builds_index changes_type checks_all_rows",
    "access.0004_login": "builds_index",
    "access.0012_plugin_releases_and_jobs": "checks_all_rows",
    "access.0013_notifier": "checks_all_rows",
    "delivery.0002_delivery_reference": "builds_index",
    "overrides.0002_catalogue_contents": "volatile_default",
    "registry.0002_agent_teams": "builds_index",
    "registry.0004_issuer_joins": "builds_index",
    "registry.0005_publishing_teams": "builds_index",
    "registry.0010_job_run_artifacts": "loses_default",
}
