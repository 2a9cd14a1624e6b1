"""Pages as a folder of files: for any web server, and for opening from disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from reasongym.files import cannot_write, make_folder, refuse_used

__all__ = ["write_pages"]


def write_pages(folder: Path, files: Iterable[tuple[str, str]], *, mark: str) -> Path:
    """The first page of a folder that is there whole or, where something goes wrong, as it was before.

    files: (path below the folder, text). mark: one of these paths, by which a folder is known to be of the same kind.
    Raises ConfigError where `folder` holds something else, ResourceError where it cannot be written.
    """
    folder = folder.expanduser().resolve()
    if not (folder / mark).is_file():
        refuse_used(folder)
    make_folder(folder.parent)
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}.new")
    replaced = folder.with_name(f".{folder.name}.{os.getpid()}.old")
    try:
        for name, text in files:
            path = unfinished / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if folder.exists():
            folder.rename(replaced)
        unfinished.rename(folder)
    except OSError as error:
        raise cannot_write(folder, 0, error) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        if replaced.exists() and not folder.exists():
            replaced.rename(folder)
        shutil.rmtree(replaced, ignore_errors=True)
    return folder / "index.html"
