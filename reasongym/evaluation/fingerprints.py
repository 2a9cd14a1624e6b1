"""Digests: of a value, and of which verifier judged: its source and all that it imports of ours.

Not covered: other packages (sympy), and files that a verifier of yours imports beside its own.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from reasongym import registry

__all__ = ["digest_of", "verifier_fingerprint"]

FOLLOWED = ("reasongym.verifiers", "reasongym.sandbox", "reasongym.tasks")


def digest_of(value: object) -> str:
    """SHA-256 of a value's JSON, keys sorted."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def verifier_fingerprint(spec: str) -> str:
    """SHA-256. A changed comment changes it too: equal ones judge alike, others may. Raises UnknownNameError."""
    found = registry.verifier(spec)
    module = str(found.__module__)
    file = getattr(sys.modules.get(module), "__file__", None)
    sources = {module: Path(file)} if file else {}
    if module.startswith(FOLLOWED):
        sources = dict(_reached(module))
    digest = hashlib.sha256(str(getattr(found, "__qualname__", spec)).encode())
    for name, path in sorted(sources.items()):
        # A file of one's own is read by what is in it, wherever it lies.
        label = name if name.startswith(FOLLOWED) else ""
        digest.update(f"\x1f{label}\x1f".encode() + path.read_bytes())
    return digest.hexdigest()


def _reached(module: str) -> Iterator[tuple[str, Path]]:
    """Modules of ours that it imports, directly or not. Of a package of its own, below `verifiers`, all files: it may
    hand them to a sandbox instead of importing them."""
    pending, seen = [module], set[str]()
    while pending:
        name = pending.pop()
        spec = None if name in seen else importlib.util.find_spec(name)
        seen.add(name)
        if spec is None or spec.origin is None:
            continue
        path = Path(spec.origin)
        yield name, path
        package = name if spec.submodule_search_locations else name.rpartition(".")[0]
        if name == module and package.count(".") >= 2:
            yield from ((f"{package}:{file.relative_to(path.parent)}", file) for file in path.parent.rglob("*.py"))
        pending += [target for target in _imports(path, package) if target.startswith(FOLLOWED)]


def _imports(path: Path, package: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names if _is_module(f"{base}.{alias.name}"))


def _is_module(name: str) -> bool:
    try:
        return name.startswith(FOLLOWED) and importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is no package
        return False
