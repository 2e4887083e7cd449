"""How long sessions wait for locks, looked at many times a second."""

from __future__ import annotations

import threading

import psycopg

from controlplane.database.roles import APPLICATION

_EVERY_SECONDS = 0.05
# Without those for the end of another transaction by a concurrent index, behind which nobody waits.
_WAITS = """
SELECT activity.usename = ANY(%s), extract(epoch FROM clock_timestamp() - lock.waitstart)::float,
       lock.locktype || ' ' || coalesce(lock.relation::regclass::text, '')
  FROM pg_locks AS lock JOIN pg_stat_activity AS activity USING (pid)
 WHERE NOT lock.granted AND lock.locktype <> 'virtualxid' AND activity.datname = current_database()
"""


class LockWaits(threading.Thread):
    """longest: seconds, and what was waited for; of our processes, and of others such as `migrate`."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.longest: dict[str, tuple[float, str]] = {"processes": (0.0, ""), "others": (0.0, "")}
        self.looks = 0
        self.stopping = threading.Event()
        self._url = url

    def run(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as session:
            while not self.stopping.wait(_EVERY_SECONDS):
                for is_ours, seconds, what in session.execute(_WAITS, [list(APPLICATION)]).fetchall():
                    whose = "processes" if is_ours else "others"
                    self.longest[whose] = max(self.longest[whose], (seconds, what))
                self.looks += 1
