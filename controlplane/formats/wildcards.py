"""Names against patterns in which `*` stands for any characters. Pure."""


def matches(pattern: str, name: str) -> bool:
    """Return whether the whole name matches, in time linear in both for any number of `*`.

    A regular expression would backtrack: thirty `*` and a name of sixty characters take it years.
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
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
