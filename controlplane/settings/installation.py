"""What this code was built from."""

from controlplane.settings import environment as env

__all__ = ["BUILD_COMMIT"]

BUILD_COMMIT = env.text(
    "BUILD_COMMIT",
    default="",
    meaning="Commit that the code was built from, shown by `/api/v1/meta`. The image sets it.",
    is_shown=True,
)
