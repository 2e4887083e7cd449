"""What a caller reads about its rate limit: the header fields RateLimit-Policy and RateLimit. Pure.

They follow draft-ietf-httpapi-ratelimit-headers-10: a policy has a quota `q` in a window of `w` seconds, and
a service limit has the remaining `r` requests and the `t` seconds until the window ends.
"""

from __future__ import annotations

from dataclasses import dataclass

WINDOW_SECONDS = 60
# Without it, all clients that were refused in a minute would come back in its first second.
SPREAD_SECONDS = 10


@dataclass(frozen=True, slots=True)
class RateUse:
    """How much of a limit is used in this window. seconds_left: until the window ends."""

    policy: str
    limit: int
    used: int
    seconds_left: int

    @property
    def is_exceeded(self) -> bool:
        return self.used > self.limit

    def headers(self) -> dict[str, str]:
        remaining = max(0, self.limit - self.used)
        return {
            "RateLimit-Policy": f'"{self.policy}";q={self.limit};w={WINDOW_SECONDS}',
            "RateLimit": f'"{self.policy}";r={remaining};t={self.seconds_left}',
        }

    def retry_after(self, luck: float) -> int:
        """Return the seconds to wait: until the window ends, and up to SPREAD_SECONDS more.

        luck: a random number of at least 0 and below 1.
        """
        return self.seconds_left + int(luck * (SPREAD_SECONDS + 1))


def seconds_left(now: float) -> int:
    """Return the seconds until the current window ends, at least 1."""
    return max(1, WINDOW_SECONDS - int(now % WINDOW_SECONDS))
