"""`--set key=value` of commands that name a task: its settings, read as those of a run are."""

from __future__ import annotations

from collections.abc import Sequence

from reasongym.errors import ConfigError, message

__all__ = ["parse_settings"]


def parse_settings(settings: Sequence[str]) -> dict[str, object]:
    """Setting -> value, which is read as YAML. Raises ConfigError for what is not of the form key=value."""
    from reasongym.config import load_config

    for setting in settings:
        key, equals, _ = setting.partition("=")
        if not equals or not key.strip() or "." in key:
            raise ConfigError(message("a setting is not of the form key=value", got=repr(setting),
                                      expected="for example levels=[1,3]", remedy="correct the --set"))
    overrides = [f"task.settings.{setting.strip()}" for setting in settings]
    return dict(load_config(overrides=overrides).task.settings)
