"""Typed configuration: what may be set (`schema`), and how a recipe and the command line become it (`loading`)."""

from reasongym.config.loading import dump_yaml, load_config, recipe_names
from reasongym.config.schema import RunConfig

__all__ = ["RunConfig", "dump_yaml", "load_config", "recipe_names"]
