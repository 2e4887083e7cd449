"""The new state of an override, before it is committed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from overrides.field_managers import Owners
from overrides.loading.current import CurrentOverride
from overrides.resolution.addresses import Address, Statement
from overrides.resolution.merging import Attributes, canonical


@dataclass(frozen=True)
class Draft:
    """The new state of an override. after: None deletes it. pointer: its location in the request.

    stated: the statement that `after` repeats, if it is known and has been checked.
    """

    current: CurrentOverride
    after: Attributes | None
    owners: Owners
    declared_in: str = ""
    pointer: str = "/attributes"
    stated: Statement | None = None

    @property
    def address(self) -> Address:
        return self.current.address

    @property
    def statement(self) -> Statement:
        """The override after the change; only for drafts that do not delete."""
        assert self.after is not None
        if self.stated is not None:
            return self.stated
        return Statement(self.address, self.after, self.declared_in, self.pointer)

    @cached_property
    def name(self) -> str:
        """The address as text, for events, the audit log and the plan's digest."""
        return str(self.address)

    @cached_property
    def text(self) -> str:
        """The attributes after the change as canonical JSON; JSON's null after a deletion."""
        return canonical(None) if self.after is None else self.statement.text

    @cached_property
    def owners_text(self) -> str:
        return canonical(self.owners)

    @cached_property
    def changes(self) -> bool:
        before = self.current
        if before.attributes is None or self.after is None:
            return before.attributes is not self.after
        if before.attributes is self.after and before.owners is self.owners:
            return False
        return before.text != self.text or before.owners_text != self.owners_text
