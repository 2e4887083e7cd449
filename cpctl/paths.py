"""Media types and path segments, which commands use without importing the HTTP client."""

from urllib.parse import quote

JSON, YAML = "application/json", "application/yaml"


def segment(name: str) -> str:
    """Return the name as a segment of a URL path."""
    return quote(name, safe="")
