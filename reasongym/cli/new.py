"""`reasongym new`: a verifier or a task of one's own, from a template, with the test that holds it."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import keyword
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from reasongym.errors import ConfigError, message

__all__ = ["command"]

FOLDER = click.option("--folder", default=".", show_default=True, type=click.Path(path_type=Path, file_okay=False),
                      help="Where to write it; made where it is not there.")


@click.group()
def command() -> None:
    """Write a verifier or a task of your own from a template, with its test.

    \b
    reasongym new verifier capital_city
    reasongym new task sorting --folder my_tasks
    """


@command.command()
@click.argument("name")
@FOLDER
def verifier(name: str, folder: Path) -> None:
    """Write NAME.py with a verifier of that name, and test_NAME.py."""
    file = _write("verifier", name, folder)
    spec = shlex.quote(f"{file}:{name}")
    _tell_next(f"pytest {_test_of(file)}", f"reasongym verify --verifier {spec} --input answers.jsonl",
               f"reasongym check --verifier {spec} --input cases.jsonl",
               f"reasongym train --task arithmetic --verifier {spec}")


@command.command()
@click.argument("name")
@FOLDER
def task(name: str, folder: Path) -> None:
    """Write NAME.py with a task, a class named after it, and its verifier; and test_NAME.py."""
    file = _write("task", name, folder)
    spec = shlex.quote(f"{file}:{_class_name(name)}")
    _tell_next(f"pytest {_test_of(file)}", f"reasongym tasks {spec}", f"reasongym check --task {spec}",
               f"reasongym train --task {spec}")


def _write(kind: str, name: str, folder: Path) -> Path:
    """Both files, or neither. Raises ConfigError for a name that cannot be used, a file that is there, a folder that
    cannot be written to."""
    from reasongym.checking.templates import template

    texts = {file_name: template(which) for file_name, which in ((f"{name}.py", kind), (f"test_{name}.py",
                                                                                         f"test_{kind}"))}
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,60}", name) or keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise _refused(kind, name, "what cannot name a Python function")
    for file_name in texts:
        if (folder / file_name).exists() or (folder / file_name).is_symlink():
            raise ConfigError(message(f"{folder / file_name} is there already", got="a file",
                                      expected="no file of that name", remedy="choose another name or --folder"))
    _check_free(kind, name, texts.values())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file_name, text in texts.items():
            with (folder / file_name).open("x", encoding="utf-8") as stream:
                stream.write(text.replace("@name@", name).replace("@Name@", _class_name(name)))
            click.echo(f"wrote {folder / file_name}")
    except OSError as error:
        raise ConfigError(message(f"cannot write to {folder}", got=error.strerror, expected="a folder to write to",
                                  remedy="choose another --folder")) from error
    return folder / f"{name}.py"


def _check_free(kind: str, name: str, templates: Iterable[str]) -> None:
    """A name becomes a module, a function, a class, and what others write: it must be free as each of them."""
    from reasongym import registry

    used = {word for text in templates for word in _names(text)}
    if name in {*registry.verifier_names(), *(registry.task_names() if kind == "task" else ())}:
        raise _refused(kind, name, "a name that is taken (`reasongym tasks` lists tasks and their verifiers)")
    if {name, _class_name(name)} & used or hasattr(builtins, name) or keyword.iskeyword(_class_name(name)):
        raise _refused(kind, name, "a name that the file itself needs for something else")
    if name == "conftest" or name.startswith("test_") or importlib.util.find_spec(name) is not None:
        raise _refused(kind, name, "the name of a module that is there already, or of pytest's own files")


def _refused(kind: str, name: str, why: str) -> ConfigError:
    return ConfigError(message(f"a {kind} cannot be named {name!r}", got=why, remedy="choose another name",
                               expected="small letters, digits and _, such as capital_city"))


def _names(template: str) -> Iterator[str]:
    """Every name that the template's code uses."""
    for node in ast.walk(ast.parse(template.replace("@name@", "_name").replace("@Name@", "_Name"))):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.alias(name=name):
                yield name


def _class_name(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _test_of(file: Path) -> str:
    return shlex.quote(str(file.with_name(f"test_{file.name}")))


def _tell_next(*lines: str) -> None:
    click.echo("next:\n" + "\n".join(f"  {line}" for line in lines))
