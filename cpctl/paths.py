"""Words of HTTP that commands need before anything is sent: they cost no import of it."""

from urllib.parse import quote

JSON, YAML = "application/json", "application/yaml"


def segment(name: str) -> str:
    """A name as one segment of a path."""
    return quote(name, safe="")
