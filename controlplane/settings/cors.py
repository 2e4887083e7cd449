"""CORS: web pages of other origins that may call the API."""

from controlplane.api.cors import parse_origins
from controlplane.settings import environment as env

__all__ = ["CORS_ALLOWED_HEADERS", "CORS_ALLOWED_ORIGINS"]

CORS_ALLOWED_ORIGINS = env.parsed(
    "CORS_ALLOWED_ORIGINS",
    parse_origins,
    default="",
    meaning=(
        "Origins whose pages may call the API, comma-separated, such as `https://console.example.com`."
        " `*`: every origin, without cookies. Empty: none."
    ),
)
CORS_ALLOWED_HEADERS = env.names(
    "CORS_ALLOWED_HEADERS",
    default="",
    meaning="Headers that those pages may send in addition to the ones that the API reads, comma-separated.",
)
