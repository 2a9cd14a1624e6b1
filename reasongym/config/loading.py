"""From a recipe, overrides and command-line options to a RunConfig; every mistake is one ConfigError that names it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from reasongym.config.algorithms import ALGORITHM_CONFIGS
from reasongym.config.schema import RunConfig
from reasongym.errors import ConfigError, message, nearest

__all__ = ["dump_yaml", "load_config", "recipe_names"]


class _Loader(yaml.SafeLoader):
    """YAML 1.1 reads an unquoted `1e-5` as text; people mean the number, as YAML 1.2 does."""


class _Dumper(yaml.SafeDumper):
    """Quotes a text that `_Loader` would read as a number."""


EXPONENT = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$")
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", EXPONENT, list("-+.0123456789"))
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", EXPONENT, list("-+.0123456789"))


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
    return yaml.dump(config.model_dump(mode="json"), Dumper=_Dumper, sort_keys=False)


def _parse_value(override: str, text: str) -> Any:
    try:
        return yaml.load(text, _Loader) if text else ""  # a subclass of SafeLoader
    except yaml.YAMLError as error:
        raise ConfigError(message("an override's value is not YAML", got=repr(override),
                                  expected="a YAML scalar or list", remedy="quote the value")) from error


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
        tree = yaml.load(text, _Loader) or {}  # a subclass of SafeLoader
    except yaml.YAMLError as error:
        raise ConfigError(message(f"recipe {recipe} is not YAML", got=str(error).replace("\n", " "),
                                  expected="a mapping of sections", remedy="correct the file")) from error
    if not isinstance(tree, dict):
        raise ConfigError(message(f"recipe {recipe} is not a mapping", got=type(tree).__name__,
                                  expected="sections such as `trainer:`", remedy="see configs/ for examples"))
    return tree


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
    lines = _yes_for_a_number(tree, RunConfig, "")
    cause = None
    try:
        config = RunConfig.model_validate(tree)
    except ValidationError as error:
        cause, lines = error, lines + [_explain(dict(problem)) for problem in error.errors()]
    if lines:
        raise ConfigError(message("the configuration is not valid", got="\n            ".join(lines),
                                  expected="keys and values as in reasongym/config/schema.py",
                                  remedy=f"correct {recipe or 'the command line'} or its --set")) from cause
    return config


def _yes_for_a_number(tree: Mapping[str, Any], model: type[BaseModel], within: str) -> list[str]:
    """Python counts True as 1: `steps=true`, or `steps=yes`, would train a single step."""
    found = []
    for key, value in tree.items():
        field = model.model_fields.get(key)
        if isinstance(value, bool) and field is not None and field.annotation is not bool:
            found.append(f"{within}{key}: true and false are not values of this key, got {value}")
        section = ALGORITHM_CONFIGS.get(value.get("name", "grpo")) if key == "algorithm" and isinstance(value, dict) \
            else field and field.annotation
        if isinstance(value, dict) and isinstance(section, type) and issubclass(section, BaseModel):
            found += _yes_for_a_number(value, section, f"{within}{key}.")
        for place, item in enumerate(value if isinstance(value, list) else ()):
            inner = next((c for c in _inside(section) if isinstance(c, type) and issubclass(c, BaseModel)), None)
            if isinstance(item, dict) and inner is not None:
                found += _yes_for_a_number(item, inner, f"{within}{key}.{place}.")
    return found


def _explain(problem: dict[str, Any]) -> str:
    location = tuple(str(part) for part in problem["loc"])
    model, key = _section_at(location[:-1]), ".".join(_without_tag(location))
    if problem["type"] == "extra_forbidden":
        siblings = list(model.model_fields)
        return f"unknown key {key!r}.{nearest(location[-1], siblings)} Known here: {', '.join(siblings)}"
    if problem["type"] == "union_tag_invalid":
        name = str(problem["input"]["name"])
        known = ", ".join(ALGORITHM_CONFIGS)
        return f"algorithm.name: no algorithm {name!r}.{nearest(name, ALGORITHM_CONFIGS)} Known: {known}"
    text = problem["msg"].removeprefix("Value error, ")
    return text if not key else f"{key}: {text}, got {problem['input']!r}"


def _without_tag(location: tuple[str, ...]) -> tuple[str, ...]:
    """Below `algorithm` the location names the algorithm, and below `rollout.engines` their form: those are no keys."""
    if location[:1] == ("algorithm",):
        return location[:1] + location[2:]
    return location[:2] + location[3:] if location[:2] == ("rollout", "engines") else location


def _section_at(location: tuple[str, ...]) -> type[BaseModel]:
    model: type[BaseModel] = RunConfig
    if location[:1] == ("algorithm",) and len(location) > 1:
        model, location = ALGORITHM_CONFIGS[location[1]], location[2:]
    for part in location:
        if part in model.model_fields:  # not the place in a list, nor a value's form
            found = _inside(model.model_fields[part].annotation)
            model = next((c for c in found if isinstance(c, type) and issubclass(c, BaseModel)), model)
    return model


def _inside(annotation: Any) -> Iterator[Any]:
    """A type, and those that it is made of."""
    yield annotation
    for part in get_args(annotation):
        yield from _inside(part)
