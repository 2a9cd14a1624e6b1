"""The pages of the documentation as tests read them: fenced blocks, command lines, words in code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from conftest import REPO_ROOT

__all__ = ["PAGES", "README", "Block", "blocks", "code_words", "command_lines", "name_of", "prose_of"]

README = REPO_ROOT / "README.md"
PAGES = [README, *sorted((REPO_ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^( *)```(\S*)[^\n]*\n(.*?)^\1```[ ]*$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block: its language, its text, its page and where it stands."""

    language: str
    text: str
    page: str
    where: str

    @property
    def lines(self) -> list[str]:
        """Command lines: a backslash at the end joins two, a comment is none."""
        joined = re.sub(r"\\\n\s*", " ", self.text).splitlines()
        return [line.strip() for line in joined if line.strip() and not line.lstrip().startswith("#")]


def name_of(page: Path) -> str:
    """`README.md`, `docs/custom.md`."""
    return str(page.relative_to(REPO_ROOT))


def blocks(page: Path, language: str | None = None) -> Iterator[Block]:
    """The fenced blocks of a page, in order; of one language where it is named."""
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        if language in (None, found[2]):
            yield Block(found[2], found[3], name_of(page), f"{name_of(page)}:{line}")


def command_lines() -> list[tuple[str, str]]:
    """(where, line) of every command line of every page."""
    return [(block.where, line) for page in PAGES for block in blocks(page, "bash") for line in block.lines]


def prose_of(page: Path) -> str:
    """A page without its fenced blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def code_words() -> Iterator[tuple[str, str]]:
    """Every `word` in prose, with its page."""
    for page in PAGES:
        for word in re.findall(r"`([^`\n]+)`", prose_of(page)):
            yield name_of(page), word
