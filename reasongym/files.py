"""Writing so that a reader, a crash or a full disk never sees half of a file, and nothing is written over."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from reasongym.errors import ConfigError, ResourceError, message

__all__ = ["cannot_write", "in_use", "make_folder", "refuse_used", "sync", "write_atomic"]


def write_atomic(path: Path, content: str | bytes | memoryview) -> Path:
    """Replace `path` by `content` (text as UTF-8): a temporary name beside it, synced, then renamed.

    Raises ResourceError where the disk is full or the folder cannot be written; the previous file is then untouched.
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync(path.parent)  # without it the rename itself may be lost with the power
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise cannot_write(path, len(data), error) from error
    return path


def make_folder(path: Path) -> Path:
    """The folder, made with its parents where it is not there. Raises ResourceError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, 0, error) from error
    return path


def refuse_used(path: Path, *, remedy: str = "choose another --output") -> None:
    """Raises ConfigError for a file, and for a folder that is not empty or cannot be looked into."""
    try:
        used = path.exists() and not (path.is_dir() and not any(path.iterdir()))
    except OSError:
        used = True
    if used:
        raise in_use(path, remedy=remedy)


def in_use(path: Path, *, remedy: str) -> ConfigError:
    """The error of a path at which something lies already, to be raised."""
    return ConfigError(message(f"{path} is in use", got="a file, or a folder that is not empty",
                               expected="a new folder, so that nothing is written over", remedy=remedy))


def cannot_write(path: Path, num_bytes: int, error: OSError) -> ResourceError:
    """The error of a failed write, to be raised."""
    return ResourceError(message(f"cannot write {path}", got=error.strerror or str(error),
                                 expected=f"a writable folder with room for {num_bytes:,} bytes",
                                 remedy=f"`df -h {path.parent}` shows the room left; free some, or name a "
                                        "folder on another disk"))


def sync(path: Path) -> None:
    """What was written to a file, or the names in a folder, is on the disk when this returns. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
