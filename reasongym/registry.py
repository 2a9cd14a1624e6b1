"""Names -> tasks and verifiers: built in, by entry point, or `path/to/file.py:name`.

Entry-point groups: `reasongym.tasks` (a Task class or factory taking TaskOptions) and `reasongym.verifiers`.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import inspect
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from reasongym.errors import UnknownNameError, message, nearest
from reasongym.tasks import Task, TaskOptions
from reasongym.verifiers import REGISTERED, Verifier

__all__ = ["BUILT_IN_TASKS", "BUILT_IN_VERIFIERS", "task", "task_names", "verifier", "verifier_names"]

BUILT_IN_TASKS = {
    "arithmetic": "reasongym.tasks.arithmetic:Arithmetic",
    "code_synth": "reasongym.tasks.code_synth:CodeSynth",
    "gsm8k": "reasongym.tasks.gsm8k:gsm8k",
    "humaneval": "reasongym.tasks.humaneval:humaneval",
    "json_extraction": "reasongym.tasks.json_extraction:JsonExtraction",
    "json_schema": "reasongym.tasks.json_schema:json_schema",
    "math500": "reasongym.tasks.math_files:math500",
    "math_files": "reasongym.tasks.math_files:math_files",
    "mbpp": "reasongym.tasks.mbpp:mbpp",
    "multiple_choice": "reasongym.tasks.multiple_choice:multiple_choice",
    "rg:<name>": "reasongym.tasks.reasoning_gym_tasks:named",
    "stdio_problems": "reasongym.tasks.stdio_problems:stdio_problems",
    "svamp": "reasongym.tasks.svamp:svamp",
    "word_problems": "reasongym.tasks.word_problems:WordProblems",
}
BUILT_IN_VERIFIERS = {
    "choice": "reasongym.verifiers.choice:choice",
    "code": "reasongym.verifiers.code:code",
    "exact": "reasongym.verifiers.exact:exact",
    "gsm8k": "reasongym.verifiers.gsm8k:gsm8k",
    "gsm8k_flexible_extract": "reasongym.verifiers.lm_eval_gsm8k:gsm8k_flexible_extract",
    "gsm8k_format": "reasongym.verifiers.gsm8k:gsm8k_format",
    "gsm8k_strict_match": "reasongym.verifiers.lm_eval_gsm8k:gsm8k_strict_match",
    "json_schema": "reasongym.verifiers.json_schema:json_schema",
    "math": "reasongym.verifiers.math.verifier:math",
    "numeric": "reasongym.verifiers.numeric:numeric",
    "reasoning_gym": "reasongym.tasks.reasoning_gym_scoring:reasoning_gym",
    "regex": "reasongym.verifiers.regex:regex",
    "sequence": "reasongym.verifiers.sequence:sequence",
}


def task_names() -> list[str]:
    """Every task that can be named, sorted."""
    return sorted({*BUILT_IN_TASKS, *(e.name for e in entry_points(group="reasongym.tasks"))})


def verifier_names() -> list[str]:
    """Every verifier that can be named, sorted; those that a user's file registered included."""
    return sorted({*BUILT_IN_VERIFIERS, *REGISTERED, *(e.name for e in entry_points(group="reasongym.verifiers"))})


def task(spec: str, options: TaskOptions | None = None) -> Task:
    """The task of that name or file. Raises UnknownNameError, and DataError where its rows cannot be had."""
    made = _resolve(spec, "task", BUILT_IN_TASKS, task_names())(options or TaskOptions())
    if not isinstance(made, Task):
        raise UnknownNameError(message(f"{spec!r} does not make a task", got=type(made).__name__,
                                       expected="a subclass of reasongym.tasks.Task, or a function that returns one",
                                       remedy="see docs/custom.md, or `reasongym tasks` for the built-in ones"))
    return made


def verifier(spec: str) -> Verifier:
    """The verifier of that name or file. Raises UnknownNameError."""
    if spec in REGISTERED:
        return REGISTERED[spec]
    found = _resolve(spec, "verifier", BUILT_IN_VERIFIERS, verifier_names())
    if not _is_verifier(found):
        raise UnknownNameError(message(f"{spec!r} is not a verifier", got=_described(found),
                                       expected="a function (response, reference, *, example)",
                                       remedy="see docs/custom.md for one in a dozen lines"))
    return found  # type: ignore[no-any-return]


def _is_verifier(found: object) -> bool:
    """Whether it can be called as one. A class can be called too, and what it makes would be taken for a verdict."""
    if not callable(found) or isinstance(found, type):
        return False
    with contextlib.suppress(ValueError):  # a built-in function may have no signature to look at
        try:
            inspect.signature(found).bind("", None, example={})
        except TypeError:
            return False
    return True


def _described(found: object) -> str:
    if isinstance(found, type):
        return f"the class {found.__name__}"
    with contextlib.suppress(TypeError, ValueError):
        return f"{type(found).__name__} {inspect.signature(found)}"  # type: ignore[arg-type]
    return type(found).__name__


def _resolve(spec: str, kind: str, built_in: dict[str, str], names: list[str]) -> Any:
    family, _, member = spec.partition(":")
    if f"{family}:<name>" in built_in:
        module, _, attribute = built_in[f"{family}:<name>"].partition(":")
        return getattr(importlib.import_module(module), attribute)(member)
    if spec in built_in:
        module, _, attribute = built_in[spec].partition(":")
        return getattr(importlib.import_module(module), attribute)
    for entry in entry_points(group=f"reasongym.{kind}s", name=spec):
        return entry.load()
    path, colon, attribute = spec.rpartition(":")
    if colon and path.endswith(".py"):
        return _attribute(_load_file(path, kind), attribute, spec, kind)
    raise UnknownNameError(message(f"no {kind} is named {spec!r}.{nearest(spec, names)}", got=spec,
                                   expected=f"one of {', '.join(names)}, or path/to/file.py:name",
                                   remedy=f"`reasongym tasks` lists tasks; a {kind} of your own: docs/custom.md"))


def _attribute(module: ModuleType, attribute: str, spec: str, kind: str) -> Any:
    if kind == "verifier" and attribute in REGISTERED:
        return REGISTERED[attribute]
    if not hasattr(module, attribute):
        have = _offered(module, kind)
        raise UnknownNameError(message(f"{module.__file__} has no {kind} {attribute!r}.{nearest(attribute, have)}",
                                       got=spec, expected=f"one of {', '.join(have) or 'nothing'}",
                                       remedy="name a function that stands in the file"))
    return getattr(module, attribute)


def _offered(module: ModuleType, kind: str) -> list[str]:
    """The public names of a user's file that may be what is looked for: made there, not imported."""
    public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    if kind == "verifier":
        return [name for name, value in public.items() if _is_verifier(value) and _is_of(module, value)]
    return [name for name, value in public.items() if callable(value) and _is_of(module, value)]


def _is_of(module: ModuleType, value: object) -> bool:
    """Whether it was made there. An object knows only the module of its class, which may well be imported."""
    is_definition = isinstance(value, type) or inspect.isroutine(value)
    return getattr(value, "__module__", None) == module.__name__ if is_definition else True


def _load_file(path: str, kind: str) -> ModuleType:
    """Import a user's file once under a name of its own, so that it shadows nothing and worker processes can too."""
    file = Path(path).expanduser().resolve()
    if not file.is_file():
        raise UnknownNameError(message(f"no file {path} to take a {kind} from", got=str(file),
                                       expected="an existing Python file", remedy="check the path"))
    name = "reasongym_user_" + hashlib.sha256(str(file).encode()).hexdigest()[:12]
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output may be carrying verdicts
            spec.loader.exec_module(module)
    except BaseException as error:  # a user's file may raise anything while it is imported, SystemExit too
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise UnknownNameError(message(f"{file} cannot be imported", got=f"{type(error).__name__}: {error}",
                                       expected="a Python file that imports", remedy="fix the file")) from error
    return module
