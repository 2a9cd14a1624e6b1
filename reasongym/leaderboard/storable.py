"""Text as any database keeps it, and names as any terminal shows them: what neither takes is written as its escape."""

from __future__ import annotations

__all__ = ["one_line", "storable"]


def storable(text: str) -> str:
    r"""The text with each NUL as `\x00` and each lone surrogate as `\udc80`.

    PostgreSQL's text holds no NUL, and no UTF-8 a lone surrogate. The change is one-way, and the second call changes
    nothing, so a result that travels through several stores keeps its digest.
    """
    return text.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


def one_line(text: str) -> str:
    r"""A name on one line, and each character that would act on a terminal as its escape (`\x1b`)."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii")
                   for sign in " ".join(text.split()))
