"""Write the pages of docs/ that follow from the code: every configuration key, every metric.

    python scripts/make_docs.py           # writes docs/configuration.md and docs/metrics.md
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

from reasongym.config import RunConfig
from reasongym.config.algorithms import ALGORITHM_CONFIGS
from reasongym.config.policy_gradient import CriticConfig, PolicyGradientConfig
from reasongym.config.section import Section
from reasongym.tracking.definitions import METRICS

DOCS = Path(__file__).resolve().parent.parent / "docs"
SIGNS: dict[type, tuple[str, str]] = {Gt: (">", "gt"), Ge: (">=", "ge"), Lt: ("<", "lt"), Le: ("<=", "le")}

CONFIGURATION_HEAD = """\
# Configuration

This page is written by `scripts/make_docs.py` from `reasongym/config/`; a test holds it equal to the code.

A run is told what to do by three things, the later ones winning: a recipe (`--recipe NAME`, a file of `configs/`, or a
YAML file of your own), the named options (`--task`, `--steps`), and any number of `--set KEY=VALUE`, whose values are
YAML.

```bash
reasongym train --recipe cpu --task word_problems --set task.settings.levels=[1,2] --set trainer.learning_rate=1e-5
```

A key that does not exist is an error that names the nearest one. What a run really used, defaults included, is in its
`config.yaml`, which is itself a recipe. The defaults below are those of the code; recipes replace some of them.

Checked together: `rollout.group_size` is at least 2, `ppo` and `reinforce` excepted; `rollout.top_p` below 1 and
`rollout.top_k` above 0 are refused, because cutting the distribution biases the policy ratio;
`rollout.prompts_per_step` divides by `trainer.mini_batches`; a warm-up under a decaying schedule is shorter than the
run; `algorithm.aggregation_constant` needs `algorithm.aggregation=constant`.
"""
ALGORITHMS_HEAD = """\
`algorithm.name` picks the algorithm, and with it which keys there are; `--algorithm NAME` does the same and forgets
what the recipe says of another. `reasongym algorithms NAME` prints one with its formula. The algorithms that weigh
sampled tokens by an advantage (all but `dpo`, `online_dpo`, `kto` and `sft`) share these keys:
"""
METRICS_HEAD = """\
# Metrics

This page is written by `scripts/make_docs.py` from `reasongym/tracking/definitions.py`; a test holds it equal to the
code.

`metrics.jsonl` in a run's folder has one JSON object a line: `step`, `time` (seconds since 1970) and the values below.
An evaluation writes a line of its own with the step it followed. A value that is not finite is written as null.
TensorBoard shows the same numbers, and so do the other [loggers](logging.md) that are asked for.

M is the number of trainable tokens of the step; e_t and p_t are the logprobs that the engine recorded and the trainer
computes for token t, both of the temperature-scaled distribution and of the same weights; w_t = exp(p_t - e_t).
"""

def configuration_page() -> str:
    """docs/configuration.md: a table a section, nested sections after their parent."""
    return "\n".join([CONFIGURATION_HEAD.rstrip(), *_sections(RunConfig, ""), ""])


def metrics_page() -> str:
    """docs/metrics.md: a table a group, in the order of the definitions."""
    lines = [METRICS_HEAD.rstrip()]
    group = ""
    for name, info in METRICS.items():
        if name.partition("/")[0] != group:
            group = name.partition("/")[0]
            lines += ["", f"## {group}", "", "| metric | what it is | formula and unit | a bad value |",
                      "|---|---|---|---|"]
        cells = (f"`{name}`", info.definition, info.formula, info.bad_value_means)
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return "\n".join([*lines, ""])


PAGES = {"configuration.md": configuration_page, "metrics.md": metrics_page}


def _sections(model: type[Section], prefix: str) -> Iterator[str]:
    nested = {name: field.annotation for name, field in model.model_fields.items() if _is_section(field)}
    unions = [name for name, field in model.model_fields.items() if field.discriminator]
    yield f"\n## {prefix.rstrip('.') or 'The run'}\n\n{inspect.cleandoc(model.__doc__ or '')}\n"
    yield "| key | default | value | meaning |\n|---|---|---|---|"
    for name, field in model.model_fields.items():
        if name not in nested and name not in unions:
            yield _line(model, prefix, name, field)
    for name in unions:
        yield from _algorithms(f"{prefix}{name}")
    for name, section in nested.items():
        assert isinstance(section, type)
        yield from _sections(section, f"{prefix}{name}.")


def _algorithms(prefix: str) -> Iterator[str]:
    """What all have that weigh tokens by advantages, then each one's own; what is said once is not said again."""
    yield f"\n## {prefix}\n\n{ALGORITHMS_HEAD}"
    shared = set(PolicyGradientConfig.model_fields)
    yield from (_table(PolicyGradientConfig, f"{prefix}.", shared - {"name"}))
    for name in ("kl", "correction", "dynamic_sampling"):
        section = type(PolicyGradientConfig.model_fields[name].default)
        yield from _sections(section, f"{prefix}.{name}.")
    for name, model in ALGORITHM_CONFIGS.items():
        known = PolicyGradientConfig.model_fields if issubclass(model, PolicyGradientConfig) else {}
        own = {key for key, field in model.model_fields.items()
               if key not in known or field.default != known[key].default}
        yield f"\n## {prefix}.name={name}\n\n{inspect.cleandoc(model.__doc__ or '')}\n"
        yield from _table(model, f"{prefix}.", own - {"name"})
        if name == "ppo":
            yield from _sections(CriticConfig, f"{prefix}.critic.")


def _table(model: type[Section], prefix: str, keys: set[str]) -> Iterator[str]:
    """One row a key; of a section that an algorithm presets, only what it presets."""
    yield "| key | default | value | meaning |\n|---|---|---|---|"
    for name, field in model.model_fields.items():
        if name not in keys:
            continue
        if not isinstance(field.default, Section):
            yield _line(model, prefix, name, field)
        elif name in PolicyGradientConfig.model_fields:
            plain = PolicyGradientConfig.model_fields[name].default
            yield from (f"| `{prefix}{name}.{inner}` | `{_shown(value)}` | | as above |"
                        for inner, value in field.default
                        if value != getattr(plain, inner) or not issubclass(model, PolicyGradientConfig))


def _line(model: type[Section], prefix: str, name: str, field: FieldInfo) -> str:
    default = _shown(field.get_default(call_default_factory=True))
    cells = (f"`{prefix}{name}`", f"`{default}`", _values(field), model.meaning(name))
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _is_section(field: FieldInfo) -> bool:
    return isinstance(field.annotation, type) and issubclass(field.annotation, Section)


def _shown(default: object) -> str:
    """As YAML writes it: what may stand behind `--set KEY=`."""
    if default is None or isinstance(default, bool):
        return {None: "null", True: "true", False: "false"}[default]
    if isinstance(default, tuple):
        return f"[{', '.join(map(str, default))}]"
    return str(default)


def _values(field: FieldInfo) -> str:
    bounds = [f"{sign} {getattr(bound, attribute):g}" for bound in field.metadata
              for kind, (sign, attribute) in SIGNS.items() if isinstance(bound, kind)]
    return " ".join([_kind(field.annotation), ", ".join(bounds)]).strip()


def _kind(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(annotation))
    names = {int: "integer", float: "number", str: "text", bool: "true or false", type(None): "null"}
    if annotation in names:
        return names[annotation]
    if get_origin(annotation) is dict:
        return "mapping"
    if get_origin(annotation) is tuple:
        return "list"
    if get_origin(annotation) is Annotated:
        return _values(FieldInfo.from_annotation(annotation))
    return " or ".join(_kind(part) for part in get_args(annotation))


def _cell(text: str) -> str:
    """One line, and no bar or tag of its own: `<part>` outside code would vanish from the page."""
    line = re.sub(r"\s+", " ", text).replace("|", "\\|")
    parts = line.split("`")
    return "`".join(part if index % 2 else part.replace("<", "&lt;") for index, part in enumerate(parts))


def main() -> None:
    """Write every generated page."""
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
