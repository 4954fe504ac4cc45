"""Whose line a warning is about."""

import sys


def outside() -> int:
    """The `stacklevel` of the caller's caller outside of this package: the line that a user should look at."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("treecv."):
        level, frame = level + 1, frame.f_back
    return level
