"""Tables of the cluster of our processes."""

from django.db import models


class Leadership(models.Model):
    """Who leads in one role, until when, and how often the leader has changed."""

    role = models.CharField(primary_key=True, max_length=40)
    # A process, not a connection: a pooler gives each transaction another connection.
    holder = models.UUIDField()
    epoch = models.BigIntegerField(db_default=1)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.role}: epoch {self.epoch}"
