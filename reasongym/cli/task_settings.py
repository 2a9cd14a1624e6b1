"""`--set key=value` of commands that name a task: its settings."""

from __future__ import annotations

from collections.abc import Sequence

from reasongym.errors import ConfigError, message

__all__ = ["parse_settings"]


def parse_settings(settings: Sequence[str]) -> dict[str, object]:
    """Setting -> value, which is read as YAML. Raises ConfigError for what is not of the form key=value."""
    import yaml

    parsed: dict[str, object] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        try:
            parsed[key.strip()] = yaml.safe_load(text)
        except yaml.YAMLError:
            equals = ""
        if not equals or not key.strip():
            raise ConfigError(message("a setting is not of the form key=value", got=repr(setting),
                                      expected="for example levels=[1,3]", remedy="correct the --set"))
    return parsed
