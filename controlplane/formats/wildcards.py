"""Wildcard patterns, in which `*` matches any characters. Pure."""


def matches(pattern: str, name: str) -> bool:
    """True if the whole name matches, in linear time for any number of `*`.

    A regular expression would backtrack: for thirty `*` and a name of sixty characters, it would take years.
    """
    first, *inner = pattern.split("*")
    if not inner:
        return pattern == name
    last = inner.pop()
    end = len(name) - len(last)
    if end < len(first) or not name.startswith(first) or not name.endswith(last):
        return False
    at = len(first)
    for part in inner:
        position = name.find(part, at, end)
        if position < 0:
            return False
        at = position + len(part)
    return True
