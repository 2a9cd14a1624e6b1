"""From a recipe, overrides and command-line options to a RunConfig; every mistake is one ConfigError that names it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from reasongym.config.schema import RunConfig
from reasongym.errors import ConfigError, message, nearest

__all__ = ["dump_yaml", "load_config", "recipe_names"]


def recipe_names() -> list[str]:
    """Names of the recipes in configs/."""
    folder = resources.files("reasongym.configs")
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def load_config(recipe: str | None = None, *, overrides: Sequence[str] = (),
                options: Mapping[str, object] | None = None) -> RunConfig:
    """Build a configuration: recipe, then `options` (dotted key -> value), then `overrides` (`a.b=c`), in that order.

    recipe: a name in configs/, a path to a YAML file, or None for the defaults. Values of overrides are YAML.
    Raises ConfigError for an unknown recipe or key (naming the nearest), a wrong type, or parts that do not fit.
    """
    tree = _read_recipe(recipe) if recipe else {}
    for key, value in (options or {}).items():
        _put(tree, key, value)
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not key:
            raise ConfigError(message("an override is not of the form key=value", got=repr(override),
                                      expected="for example trainer.learning_rate=1e-5", remedy="correct the --set"))
        _put(tree, key.strip(), _parse_value(override, text))
    return _validate(tree, recipe)


def dump_yaml(config: RunConfig) -> str:
    """The configuration as YAML that `load_config` reads back to an equal one."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False)


def _parse_value(override: str, text: str) -> Any:
    try:
        value = yaml.safe_load(text) if text else ""
    except yaml.YAMLError as error:
        raise ConfigError(message("an override's value is not YAML", got=repr(override), expected="a YAML scalar or list",
                                  remedy="quote the value")) from error
    return _as_number(value)


def _as_number(value: Any) -> Any:
    """YAML 1.1 reads `1e-5` as text; people mean the number."""
    if isinstance(value, str):
        try:
            return float(value) if "e" in value.lower() and value.strip()[:1] in "+-.0123456789" else value
        except ValueError:
            return value
    if isinstance(value, dict):
        return {k: _as_number(v) for k, v in value.items()}
    return value


def _read_recipe(recipe: str) -> dict[str, Any]:
    path = Path(recipe).expanduser()
    if recipe in recipe_names():
        text = resources.files("reasongym.configs").joinpath(f"{recipe}.yaml").read_text(encoding="utf-8")
    elif path.suffix in {".yaml", ".yml"} and path.is_file():
        text = path.read_text(encoding="utf-8")
    else:
        raise ConfigError(message(f"no recipe {recipe!r}.{nearest(recipe, recipe_names())}", got=recipe,
                                  expected=f"one of {', '.join(recipe_names())}, or a YAML file",
                                  remedy="pass --recipe NAME or --recipe path/to/file.yaml"))
    try:
        tree = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ConfigError(message(f"recipe {recipe} is not YAML", got=str(error).replace("\n", " "),
                                  expected="a mapping of sections", remedy="correct the file")) from error
    if not isinstance(tree, dict):
        raise ConfigError(message(f"recipe {recipe} is not a mapping", got=type(tree).__name__,
                                  expected="sections such as `trainer:`", remedy="see configs/ for examples"))
    return {key: _as_number(value) for key, value in tree.items()}


def _put(tree: dict[str, Any], dotted: str, value: object) -> None:
    *parents, leaf = dotted.split(".")
    node = tree
    for parent in parents:
        child = node.setdefault(parent, {})
        if not isinstance(child, dict):
            raise ConfigError(message(f"{dotted}: {parent} is a value, not a section", got=repr(child),
                                      expected="a section", remedy="correct the key"))
        node = child
    node[leaf] = value


def _validate(tree: dict[str, Any], recipe: str | None) -> RunConfig:
    try:
        return RunConfig.model_validate(tree)
    except ValidationError as error:
        lines = [_explain(dict(problem)) for problem in error.errors()]
        raise ConfigError(message("the configuration is not valid", got=f"recipe {recipe or '(defaults)'}",
                                  expected="keys and values as in reasongym/config/schema.py",
                                  remedy="\n            ".join(lines))) from error


def _explain(problem: dict[str, Any]) -> str:
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        siblings = _fields_at(problem["loc"][:-1])
        return f"unknown key {key!r}.{nearest(str(problem['loc'][-1]), siblings)} Known here: {', '.join(siblings)}"
    text = problem["msg"].removeprefix("Value error, ")
    return text if not key else f"{key}: {text}, got {problem['input']!r}"


def _fields_at(location: tuple[Any, ...]) -> list[str]:
    model: type[BaseModel] = RunConfig
    for part in location:
        annotation = model.model_fields[str(part)].annotation
        candidates = [annotation, *get_args(annotation)]
        model = next(c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel))
    return list(model.model_fields)
