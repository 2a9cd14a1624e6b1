"""What the tests do with each command of the documentation: the table of rules, the parser, the hands that type."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import click
from click.testing import CliRunner

from reasongym import registry
from reasongym.cli import cli
from reasongym.config import RunConfig
from reasongym.config.algorithms import ALGORITHM_CONFIGS
from reasongym.errors import ReasongymError
from reasongym.training.task import make_task, reward_parts

__all__ = ["RULES", "SHELL", "Done", "Rule", "contexts", "parse", "planned", "rule_of", "shortened",
           "type_in", "words_of"]

SHELL = frozenset({"|", "<", ">", ">>", "&&", ";", "&"})
COMMAND_TIMEOUT_S = 300.0
BIN = Path(sys.executable).parent

Way = Literal["run", "plan", "stack", "serve", "parse", "make", "install", "set", "ray", "elsewhere"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What is done with lines that begin with `begins`, of pages whose name holds `page`.

    run: typed in a workplace, where it must end with one of `status` and print `prints`. stack: the same, where the
    training stack is installed. serve: started, asked for its first page, interrupted. plan: parsed, its task and
    verifier made, and planned as --dry-run does. parse: parsed alone, for the reason given in `why`. make, install,
    ray: the target, the extra, the option exists. set: an environment variable. elsewhere: another test has it (`why`).
    extra: words put behind it, to make it small. before: a command typed first. reads: a file written first, from the
    page's first `json` block.
    """

    begins: str
    way: Way
    page: str = ""
    why: str = ""
    status: tuple[int, ...] = (0,)
    prints: str = ""
    extra: tuple[str, ...] = ()
    before: str = ""
    reads: str = ""


SMALL = ("--rows", "2", "--seed", "1", "--timeout", "60")  # other work may hold the machine while hostile text is read
RULES = (
    Rule(begins="make ", way="make"),
    Rule(begins="pip install ", way="install"),
    Rule(begins="export ", way="set"),
    Rule(begins=". .venv/bin/activate", way="elsewhere", why="tests/test_setup.py sets up an environment"),
    Rule(begins="ray ", way="ray"),
    Rule(begins="echo ", way="run", prints='"status": "correct"'),
    Rule(begins="reasongym verify", way="run", page="json_schema", reads="answers.jsonl"),
    Rule(begins="reasongym verify", way="run"),
    Rule(begins="reasongym tasks rg:", way="run", prints="rg:|chain_sum"),
    Rule(begins="reasongym tasks", way="run", prints="."),
    Rule(begins="reasongym algorithms", way="stack", prints="grpo"),
    Rule(begins="reasongym check --task gsm8k", way="stack", extra=SMALL, prints="gsm8k"),
    Rule(begins="reasongym check --task", way="run", extra=SMALL),
    Rule(begins="reasongym check --verifier", way="run", extra=SMALL),
    Rule(begins="reasongym check", way="parse", why="every task takes minutes: `make check` runs it"),
    Rule(begins="reasongym new", way="run"),
    Rule(begins="reasongym doctor", way="run", status=(0, 1), prints="python"),
    Rule(begins="reasongym report", way="run", prints=r"report\.html"),
    Rule(begins="reasongym pairs", way="stack", prints="pairs"),
    Rule(begins="reasongym compare", way="run", prints="McNemar"),
    Rule(begins="reasongym rescore", way="run", prints="gsm8k"),
    Rule(begins="reasongym leaderboard serve", way="serve", before="reasongym leaderboard add evals/before"),
    Rule(begins="reasongym contamination", way="run", prints="gsm8k"),
    Rule(begins="reasongym runs serve", way="serve"),
    Rule(begins="reasongym runs", way="run", prints=r"index\.html"),
    Rule(begins="reasongym leaderboard export", way="run", before="reasongym leaderboard add evals/before"),
    Rule(begins="reasongym leaderboard", way="run"),
    Rule(begins="reasongym sandbox run --backend docker", way="parse", why="tests/test_sandbox_docker.py has one"),
    Rule(begins="reasongym sandbox build", way="parse", why="tests/test_sandbox_image.py makes images"),
    Rule(begins="reasongym sandbox run", way="run", prints="42"),
    Rule(begins="reasongym sandbox info", way="run", prints="local"),
    Rule(begins="reasongym engines", way="parse", why="a run has to go on: tests/test_elastic_stack.py asks one"),
    Rule(begins="reasongym eval --resume", way="run", prints="gsm8k"),
    Rule(begins="reasongym eval", way="parse", why="engines take a minute to start: tests/test_stack.py has some"),
    Rule(begins="reasongym plan", way="run", status=(0, 1), prints="It (fits|does not fit)"),
    Rule(begins="reasongym train", way="plan"),
)
ENDPOINT = Rule(begins="reasongym eval", way="run", prints="accuracy", extra=("--limit", "3"))


def rule_of(page: str, line: str) -> Rule | None:
    """The first rule that covers a line; an evaluation at an endpoint can be run, as there is a stand-in."""
    if line.startswith("reasongym eval") and "--endpoint" in line:
        return ENDPOINT
    return next((rule for rule in RULES if line.startswith(rule.begins) and rule.page in page), None)


def words_of(line: str) -> list[str]:
    """The words of the reasongym command in a line, behind its name and in front of what is the shell's."""
    words = shlex.split(line)
    start = words.index("reasongym") + 1
    return words[start:next((i for i in range(start, len(words)) if words[i] in SHELL), len(words))]


def contexts(words: Sequence[str]) -> Iterator[click.Context]:
    """A command and its subcommands, each parsed by click as it would be before running. Raises click.UsageError."""
    command: click.Command = cli
    context, rest = click.Context(cli, info_name="reasongym"), list(words)
    while rest and isinstance(command, click.Group):
        name, found, arguments = command.resolve_command(context, rest)
        assert found is not None, f"no command {name!r}"
        context = found.make_context(name, list(arguments), parent=context)
        yield context
        command, rest = found, [*getattr(context, "_protected_args", ()), *context.args]


def parse(line: str) -> click.Context:
    """A command line through click's own parser, and the names in it through the registry; nothing is run.

    Raises click.UsageError, ReasongymError.
    """
    found = list(contexts(words_of(line)))
    assert found, "no command"
    options = {key: value for context in found for key, value in context.params.items()}
    if found[0].info_name == "train":
        _configured(options)
    for name in [*str(options.get("task") or "").split(","), *options.get("tasks", ())]:
        _known_task(name)
    for name in filter(None, [*options.get("verifiers", ()), options.get("verifier")]):
        registry.verifier(name)
    if found[0].info_name == "verify":
        registry.verifier(options["name"])
    if found[0].info_name == "algorithms" and options["name"]:
        assert options["name"] in ALGORITHM_CONFIGS, options["name"]
    return found[-1]


def _known_task(name: str) -> None:
    if name and ":" not in name:
        assert name in registry.task_names(), f"no task {name!r}"


def _configured(options: Mapping[str, object]) -> RunConfig:
    """The configuration of a `train` command, as the command itself makes it."""
    from reasongym.cli.train import _configured as configured
    from reasongym.cli.train import _resumed as resumed
    from reasongym.planning import Hardware

    hardware = Hardware.described(str(options.get("hardware") or "cpu 16 cores 64GB"))
    given = dict(options)
    return resumed(given) if given["resume"] else configured(given, hardware)


def planned(line: str) -> str:
    """A `train` command, checked further than `--dry-run` does: its task and verifiers are made. Returns the plan."""
    options = dict(next(contexts(words_of(line))).params)
    config = _configured(options)
    reward_parts(config, make_task(config, training=True))
    gpus = config.resources.device == "cuda"
    hardware = options["hardware"] or ("8x H100 80GB" if gpus else "cpu 16 cores 64GB")
    words = [*words_of(line), *([] if options["dry_run"] else ["--dry-run"]),
             *([] if options["hardware"] else ["--hardware", str(hardware)])]
    done = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


class Done(NamedTuple):
    """output: standard output and error."""

    status: int
    output: str


def type_in(line: str, folder: Path, environment: Mapping[str, str]) -> Done:
    """Run a line in `folder`: by the shell where it says something to a shell, else in this process, which has the
    imports already."""
    words = shlex.split(line)
    if words[0] == "reasongym" and not SHELL & set(words) and "*" not in line:
        try:
            done = CliRunner().invoke(cli, words[1:], catch_exceptions=False, env=dict(environment))
        except ReasongymError as error:
            return Done(error.exit_status, str(error))
        return Done(done.exit_code, done.output)
    shell = ["bash", "-o", "pipefail", "-c", line]
    path = f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"
    ran = subprocess.run(shell, cwd=folder, env={**os.environ, **environment, "PATH": path}, text=True, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=COMMAND_TIMEOUT_S)
    return Done(ran.returncode, ran.stdout)


def shortened(output: str, most: int = 2000) -> str:
    """The end of an output, for a message."""
    return re.sub(r"\s+$", "", output)[-most:]
