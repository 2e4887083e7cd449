"""Commands of Redis that FlytePropeller's resource manager uses, and what they mean for a pool.

Source: Flyte v1.16.8, flytepropeller/pkg/controller/nodes/task/resourcemanager/redis_resourcemanager.go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from controlplane.errors import ControlplaneError, NotAuthenticated, PermissionDenied
from controlplane.identity.callers import Caller
from controlplane.pools.redis_door import leases
from controlplane.pools.redis_door.allocation_tokens import pool_of, token_of
from controlplane.pools.redis_door.protocol import EMPTY_ARRAY, OK, PONG, Command, error, integer

# More than every quota: after `SISMEMBER` has answered that there is no unit, propeller compares the size of
# the set with its own quota, and must find it full.
_FULL = 2**31
_ANONYMOUS = frozenset({"AUTH", "PING", "QUIT", "CLIENT", "COMMAND"})

_CODES: dict[type[ControlplaneError], str] = {NotAuthenticated: "WRONGPASS", PermissionDenied: "NOPERM"}


@dataclass(frozen=True, slots=True)
class DoorOptions:
    """true_counts: answer SCARD with the units in use. Propeller then grants more than there are.

    default_capacity: of pools that nobody has defined; 0: they are closed.
    """

    true_counts: bool = False
    default_capacity: int = 0


@dataclass(slots=True)
class Session:
    """One connection. secret: of the last AUTH; its rights are read again with each command."""

    options: DoorOptions
    secret: str = ""
    is_over: bool = False
    _commands: dict[str, Callable[[Command], bytes]] = field(init=False)

    def __post_init__(self) -> None:
        self._commands = {
            "AUTH": self._auth,
            "PING": lambda parts: PONG,
            "SELECT": self._select,
            "CLIENT": lambda parts: OK,
            "COMMAND": lambda parts: EMPTY_ARRAY,
            "QUIT": self._quit,
            "SISMEMBER": self._is_member,
            "SCARD": self._count,
            "SMEMBERS": lambda parts: EMPTY_ARRAY,
            "SADD": self._add,
            "SREM": self._remove,
        }

    def run(self, parts: Command) -> bytes:
        """Return the reply to a command."""
        name = parts[0].decode(errors="replace").upper() if parts else ""
        command = self._commands.get(name)
        if command is None:
            return error("ERR", f"unknown command '{name[:40]}'")
        if name not in _ANONYMOUS and not self.secret:
            return error("NOAUTH", "Authentication required: set hostKey to a token of a service.")
        try:
            return command(parts[1:])
        except ControlplaneError as problem:
            if isinstance(problem, NotAuthenticated):
                self.secret = ""
            code = next((code for kind, code in _CODES.items() if isinstance(problem, kind)), "ERR")
            return error(code, problem.detail)
        except ValueError:
            return error("ERR", f"wrong number of arguments for '{name.lower()}'")

    def _auth(self, arguments: Command) -> bytes:
        """With a password, or with a user name that means nothing and a password."""
        *_, secret = arguments
        self.secret = secret.decode(errors="replace")
        leases.authenticate(self.secret)
        return OK

    def _select(self, arguments: Command) -> bytes:
        (number,) = arguments
        return OK if number == b"0" else error("ERR", "There is only database 0.")

    def _quit(self, arguments: Command) -> bytes:
        self.is_over = True
        return OK

    def _is_member(self, arguments: Command) -> bytes:
        """The one command with the token before propeller decides: it leases the unit."""
        return integer(1 if self._acquire(arguments) else 0)

    def _add(self, arguments: Command) -> bytes:
        if self._acquire(arguments):
            return integer(1)
        return error("OVERLIMIT", "The pool has no free unit. Nothing was added.")

    def _acquire(self, arguments: Command) -> bool:
        key, member = arguments
        capacity = self.options.default_capacity
        return leases.acquire(self._caller(), _pool(key), token_of(member), default_capacity=capacity)

    def _remove(self, arguments: Command) -> bytes:
        key, member = arguments
        return integer(1 if leases.release(self._caller(), _pool(key), token_of(member)) else 0)

    def _count(self, arguments: Command) -> bytes:
        (key,) = arguments
        name, caller = _pool(key), self._caller()
        return integer(leases.count(caller, name) if self.options.true_counts else _FULL)

    def _caller(self) -> Caller:
        return leases.authenticate(self.secret)


def _pool(key: bytes) -> str:
    name = pool_of(key)
    if name is None:
        raise PermissionDenied("Only keys that begin with redisresourcemanager: exist here.")
    return name
