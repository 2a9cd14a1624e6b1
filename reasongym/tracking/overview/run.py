"""One run's folder as pages and reports see it: its record, its curves so far, whether it goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from reasongym.evaluation import Interval, wilson_interval
from reasongym.tracking.ending import Ending, state_of
from reasongym.tracking.overview.columns import Columns, Curve
from reasongym.tracking.rollouts import rollout_files

__all__ = ["Best", "Run", "find_runs", "glance", "is_run"]


class Best(NamedTuple):
    """The best held-out score of a run. name: which. interval: 95 %, None where the number of prompts is unknown."""

    name: str
    step: int
    value: float
    interval: Interval | None


class Run:
    """A run's folder. `refresh` brings it up to date; what is missing or damaged is empty, and named in `damage`."""

    def __init__(self, folder: Path, slug: str = "") -> None:
        """slug: by which the pages address it, where it is one of several."""
        self.folder, self.name, self.slug = folder, folder.resolve().name, slug
        self._columns = Columns(folder / "metrics.jsonl")
        self._parsed: dict[str, tuple[int, Mapping[str, Any]]] = {}
        self.damage: tuple[str, ...] = ()
        self.version = ""
        self.ending = Ending("failed")
        self.files: dict[int, Path] = {}
        self.refresh()

    def refresh(self) -> None:
        """Read what has been written since; nothing where `glance` sees no change."""
        seen = glance(self.folder)
        if seen == self.version:
            return
        self.version = seen
        self._columns.refresh()
        self.ending = state_of(self.folder)
        self.files = rollout_files(self.folder / "rollouts")
        damage = [] if not self._columns.damaged else [f"{self._columns.damaged} lines of metrics.jsonl"]
        self.config, broken = self._mapping("config.yaml", yaml.safe_load)
        damage += broken
        self.environment, broken = self._mapping("environment.json", json.loads)
        self.damage = (*damage, *broken)

    @property
    def names(self) -> list[str]:
        return list(self._columns.curves)

    def curve(self, name: str) -> Curve:
        """Empty where the run has no such metric."""
        return self._columns.curves.get(name, Curve())

    def setting(self, section: str, key: str) -> str:
        """A value of the configuration as text; empty where it has none."""
        node = self.config.get(section)
        return str(node.get(key, "")) if isinstance(node, Mapping) else ""

    @property
    def facts(self) -> list[str]:
        """What was trained on what: `gsm8k`, `smollm2-135m`, `grpo`; as much as is recorded."""
        named = (self.setting("task", "name"), Path(self.setting("model", "path")).name,
                 self.setting("algorithm", "name"))
        return [fact for fact in named if fact]

    @property
    def substitutes(self) -> list[str]:
        """Data sets that were not found and that other rows stood in for."""
        return list(dict.fromkeys(_values_of("substitute_for", self.environment)))

    @property
    def steps(self) -> int:
        """The last step of training; 0 before the first."""
        return max((curve.steps[-1] for name in ("step/seconds", "train/loss", "reward/mean")
                    if (curve := self.curve(name)).steps), default=0)

    @property
    def planned(self) -> int | None:
        total = self.config.get("steps")
        return total if isinstance(total, int) and not isinstance(total, bool) else None

    @property
    def parts(self) -> list[str]:
        """Reward parts, the task's main part first."""
        found = [name.removeprefix(prefix) for prefix in ("reward/", "eval/reward/") for name in self.names
                 if name.startswith(prefix)]
        return [name for name in dict.fromkeys(found) if name != "mean"]

    @property
    def seconds(self) -> float:
        return sum(self.curve("step/seconds").values)

    def intervals(self, name: str) -> dict[int, Interval]:
        """Step -> Wilson's 95 % interval over the prompts of a held-out score, a mean of values in [0, 1].

        Exact for scores of 0 or 1. For those between, and for several samples a prompt, it errs on the wide side:
        nothing in [0, 1] varies more than the 0-or-1 variable of the same mean.
        """
        prompts = dict(zip(self.curve("eval/prompts").steps, self.curve("eval/prompts").values, strict=True))
        curve = self.curve(name)
        return {step: _interval(value, round(prompts[step]))
                for step, value in zip(curve.steps, curve.values, strict=True) if prompts.get(step, 0) >= 1}

    @property
    def best(self) -> Best | None:
        """By the main part's held-out score, or the held-out reward where no part was recorded."""
        scored = [f"eval/reward/{part}" for part in self.parts if self.curve(f"eval/reward/{part}").steps]
        for name in ("eval/accuracy", *scored, "eval/reward/mean"):
            curve = self.curve(name)
            if curve.steps:
                value, step = max(zip(curve.values, curve.steps, strict=True), key=lambda pair: (pair[0], -pair[1]))
                bounded = 0.0 <= value <= 1.0 and name != "eval/reward/mean"
                return Best(name, step, value, self.intervals(name).get(step) if bounded else None)
        return None

    def _mapping(self, file: str, parse: Callable[[str], Any]) -> tuple[Mapping[str, Any], list[str]]:
        """Parsed again only when it has changed: a large configuration takes YAML 50 ms."""
        path = self.folder / file
        try:
            changed = path.stat().st_mtime_ns
            if self._parsed.get(file, (0, {}))[0] != changed:
                value = parse(path.read_text(encoding="utf-8", errors="replace"))
                self._parsed[file] = (changed, value if isinstance(value, Mapping) else {})
        except FileNotFoundError:
            return {}, []
        except (OSError, ValueError, RecursionError, yaml.YAMLError):
            return {}, [file]
        return self._parsed[file][1], []


def glance(folder: Path) -> str:
    """Another text whenever anything that the pages show has changed; no file is read."""
    seen: list[str] = [state_of(folder).state]
    for name in ("metrics.jsonl", "config.yaml", "environment.json", "rollouts"):
        try:
            about = (folder / name).stat()
            seen.append(f"{about.st_ino}.{about.st_size}.{about.st_mtime_ns}")
        except OSError:
            seen.append("-")
    return "-".join(seen)


def is_run(folder: Path) -> bool:
    """Whether a run wrote the folder."""
    return (folder / "metrics.jsonl").is_file() or (folder / "config.yaml").is_file()


def find_runs(folders: tuple[Path, ...]) -> list[Path]:
    """Runs among the folders and right below them, each once."""
    found = [one for folder in folders for one in ([folder] if is_run(folder) else sorted(_below(folder)))
             if is_run(one)]
    return list({path.resolve(): path for path in found}.values())


def _below(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_dir()]
    except OSError:
        return []


def _interval(mean: float, num_prompts: int) -> Interval:
    return wilson_interval(round(min(1.0, max(0.0, mean)) * num_prompts), num_prompts)


def _values_of(key: str, node: object) -> list[str]:
    """Every value under that key, however deep: a run with several data sets records several provenances."""
    found: list[str] = []
    if isinstance(node, Mapping):
        found += [str(value) for name, value in node.items() if name == key and value]
        node = list(node.values())
    if isinstance(node, list):
        found += [value for child in node for value in _values_of(key, child)]
    return found
