"""Every command of README.md and docs/ is covered by a rule, and done: run, planned, or parsed for a stated reason."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import signal
import subprocess
import tomllib
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from conftest import REPO_ROOT
from doc_commands import BIN, RULES, contexts, parse, planned, rule_of, shortened, type_in, words_of
from doc_pages import PAGES, Block, blocks, code_words, command_lines
from doc_workplace import make_workplace
from endpoint_server import chat, serving

from reasongym.cli import COMMANDS, cli
from reasongym.errors import ReasongymError
from reasongym.verifiers import REGISTERED

BASH = [block for page in PAGES for block in blocks(page, "bash")]
ENDPOINTS = ("http://localhost:8000/v1", "https://api.example.com/v1")
FOREIGN_OPTIONS = {"--security-opt", "--shm-size", "--no-deps", "--an-option-of-the-program", "--tasks", "--head",
                   "--node-ip-address", "--jobs", "--address", "--resources"}
"""Of docker, pip, lm-evaluation-harness, Ray, the benchmarks, and of programs that examples run."""


def lines_of(*ways: str) -> list[str]:
    """Every line that a rule of these ways covers."""
    return sorted({line for block in BASH for line in block.lines
                   if (rule := rule_of(block.page, line)) and rule.way in ways})


def blocks_of(way: str) -> list[Block]:
    return [block for block in BASH
            if any((rule := rule_of(block.page, line)) and rule.way == way for line in block.lines)]


def command_above(page: Path, block: Block, holds: str) -> str:
    """The last command that holds these words in the blocks above `block`; empty where there is none."""
    found = ""
    for other in blocks(page):
        if other == block:
            break
        found = next((line for line in reversed(other.lines) if other.language == "bash" and holds in line), found)
    return found


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_workplace(tmp_path_factory.mktemp("docs"))


@pytest.fixture
def beside_the_files(template: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where commands are only read: the files that they name are there."""
    before = dict(REGISTERED)
    monkeypatch.chdir(template)
    monkeypatch.setenv("REASONGYM_DATA", str(template / "data"))
    yield
    REGISTERED.clear()
    REGISTERED.update(before)


@pytest.fixture
def workplace(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which the commands can be typed; names that its files register are forgotten afterwards."""
    before = dict(REGISTERED)
    folder = shutil.copytree(template, tmp_path / "work")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("REASONGYM_DATA", str(folder / "data"))
    monkeypatch.delenv("REASONGYM_STORE", raising=False)
    yield folder
    REGISTERED.clear()
    REGISTERED.update(before)


def test_every_command_of_the_docs_has_a_rule() -> None:
    assert [f"{where}: {line}" for where, line in command_lines()
            if rule_of(where.partition(":")[0], line) is None] == []


def test_a_command_that_is_only_parsed_says_why() -> None:
    assert not [rule for rule in RULES if rule.way in ("parse", "elsewhere") and not rule.why]


def test_every_rule_has_a_command() -> None:
    """Against a rule that covers nothing any more, or that an earlier one hides."""
    used = {rule for block in BASH for line in block.lines if (rule := rule_of(block.page, line))}
    assert [rule.begins for rule in RULES if rule not in used] == []


def test_no_command_hides_in_another_kind_of_block() -> None:
    """A block of another language, or of none, is not run: nothing in it may look like a command."""
    hidden = [f"{block.where}: {line}" for page in PAGES for block in blocks(page) if block.language != "bash"
              for line in block.lines if re.match(r"\$ |(reasongym|make|pip|ray) [a-z]+( |$)", line)]
    assert not hidden
    assert {block.language for page in PAGES for block in blocks(page)} <= {"bash", "text", "python", "json", "toml",
                                                                           "yaml"}


@pytest.mark.parametrize("line", lines_of("run", "stack", "serve", "parse"))
@pytest.mark.usefixtures("beside_the_files")
def test_a_command_can_be_typed(line: str) -> None:
    if "reasongym" in line:
        parse(line)


@pytest.mark.parametrize("line", lines_of("plan"))
@pytest.mark.usefixtures("beside_the_files")
def test_a_training_command_can_be_planned(line: str) -> None:
    parse(line)
    assert "Placement" in planned(line)


@pytest.mark.parametrize("line", [
    "reasongym train --taks gsm8k", "reasongym verify --input a", "reasongym sing", "reasongym train --set a.b=1",
    "reasongym train --recipe none", "reasongym tasks --samples many", "reasongym train --task sums --dry-run",
    "reasongym verify --verifier nobody --input a", "reasongym train --algorithm grop", "reasongym leaderboard sell",
    "reasongym eval --task gsm8k,maths --model m", "reasongym algorithms grop", "reasongym sandbox run --loud a.py",
    "reasongym train --task arithmetic --verifier my_rules.py:odd_number", "reasongym new verifier"])
@pytest.mark.usefixtures("beside_the_files")
def test_a_wrong_command_would_be_noticed(line: str) -> None:
    with pytest.raises((click.UsageError, ReasongymError, AssertionError)):
        parse(line)


@pytest.mark.parametrize("line", ["reasongym train --task sums", "reasongym train --verifier nobody",
                                  "reasongym train --resume runs/nobody"])
@pytest.mark.usefixtures("beside_the_files")
def test_a_wrong_training_command_would_be_noticed(line: str) -> None:
    with pytest.raises(ReasongymError):
        planned(line)


@pytest.mark.parametrize("block", blocks_of("run"), ids=lambda block: block.where)
def test_a_block_of_light_commands_runs(block: Block, workplace: Path) -> None:
    run(block, workplace, ways=("run",))


@pytest.mark.stack
@pytest.mark.parametrize("block", blocks_of("stack"), ids=lambda block: block.where)
def test_a_block_of_commands_that_need_the_stack_runs(block: Block, workplace: Path) -> None:
    run(block, workplace, ways=("stack",))


def run(block: Block, folder: Path, *, ways: tuple[str, ...]) -> None:
    """Type the lines of these ways, one after another in one folder."""
    environment: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(stand_in()) if "eval" in block.text else ""
        for line in block.lines:
            rule = rule_of(block.page, line)
            assert rule is not None
            if rule.way == "set":
                environment |= [tuple(line.removeprefix("export ").split("=", 1))]  # type: ignore[arg-type]
            if rule.way not in ways:
                continue
            if rule.before:
                assert type_in(rule.before, folder, environment).status == 0, rule.before
            if rule.reads:
                (folder / rule.reads).write_text(next(blocks(REPO_ROOT / block.page, "json")).text)
            if "--resume" in line:
                begin_evaluation(words_of(line)[-1], url, folder)
            for endpoint in ENDPOINTS:
                line = line.replace(endpoint, url)
            done = type_in(shlex.join([*shlex.split(line), *rule.extra]) if rule.extra else line, folder, environment)
            assert done.status in rule.status, f"{block.where}: {line}\n{shortened(done.output)}"
            assert re.search(rule.prints, done.output), f"{block.where}: {line}\n{shortened(done.output)}"


@contextlib.contextmanager
def stand_in() -> Iterator[str]:
    """The address of an endpoint that answers every question with the same number, by either API."""
    reply = chat("#### 8")
    reply["choices"][0]["text"] = "#### 8"
    with serving(lambda asked, handler: handler.answer(reply)) as server:
        yield server.url


def begin_evaluation(name: str, url: str, folder: Path) -> None:
    """An evaluation that can be resumed, in the place of the example's result."""
    shutil.rmtree(folder / name, ignore_errors=True)
    done = type_in(f"reasongym eval --task gsm8k --model m --endpoint {url} --limit 2 --output {name}", folder, {})
    assert done.status == 0, done.output


@pytest.mark.parametrize("line", lines_of("serve"))
def test_what_serves_answers_until_it_is_interrupted(line: str, workplace: Path) -> None:
    rule = rule_of("", line)
    assert rule is not None
    if rule.before:
        assert type_in(rule.before, workplace, {}).status == 0
    command = [str(BIN / "reasongym"), *words_of(line), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            assert server.stdout is not None
            said = server.stdout.readline()
            (address,) = re.findall(r"http://[0-9.]+:[0-9]+", said)
            with urllib.request.urlopen(address, timeout=30) as page:
                assert b"</html>" in page.read()
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)


def test_every_make_target_of_the_docs_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (REPO_ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {shlex.split(line)[1] for line in lines_of("make")}
    named |= {word.split()[1] for _, word in code_words() if re.match(r"make [a-z-]+", word)}
    assert {"train", "test"} <= named <= targets


def test_every_extra_of_the_docs_exists() -> None:
    extras = tomllib.loads((REPO_ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for line in lines_of("install"):
        assert set(re.findall(r"reasongym\[(\w+)\]", line)) <= extras.keys(), line
        assert re.fullmatch(r"pip install (-e \.|reasongym(\[\w+\])?)", " ".join(shlex.split(line))), line


@pytest.mark.stack
@pytest.mark.parametrize("line", lines_of("ray"))
def test_what_ray_is_told_it_understands(line: str) -> None:
    from ray.scripts.scripts import cli as ray_cli

    name, *arguments = shlex.split(line)[1:]
    command = ray_cli.get_command(click.Context(ray_cli), name)
    assert command is not None, line
    command.make_context(name, arguments)


@pytest.mark.parametrize("word", sorted({word for _, word in code_words() if word.startswith("reasongym ")}))
def test_a_command_in_the_text_exists(word: str) -> None:
    """Named in prose it need not be complete: its words and options have to exist."""
    for said in alternatives(word):
        try:
            list(contexts(words_of(said)))
        except click.MissingParameter:
            continue
        except click.NoSuchOption as error:
            raise AssertionError(f"{said}: {error.format_message()}") from error
        except click.BadOptionUsage:
            continue  # `--algorithm` without its value


def alternatives(word: str) -> list[str]:
    """`reasongym sandbox run|info`: two commands."""
    choices = re.search(r"(\w+(\|\w+)+)", word)
    return [word.replace(choices[1], one) for one in choices[1].split("|")] if choices else [word]


def test_every_option_in_the_text_exists() -> None:
    known = FOREIGN_OPTIONS | set(options_of(cli, click.Context(cli)))
    named = {(page, option) for page, word in code_words() for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", word)}
    assert len(named) > 30
    assert sorted(f"{page}: {option}" for page, option in named if option not in known) == []


def options_of(command: click.Command, context: click.Context) -> Iterator[str]:
    for parameter in command.params:
        yield from parameter.opts
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from options_of(found, context)


def test_every_command_has_a_place_in_the_docs() -> None:
    shown = {words_of(line)[0] for _, line in command_lines() if line.startswith("reasongym")}
    assert shown | {"verify"} == set(COMMANDS)


PLANS = [(block, command) for page in PAGES for block in blocks(page, "text")
         if re.match(r"(Run|A trainer rank|An engine worker|Placement|Memory and disk.*)\n  ", block.text)
         if (command := command_above(page, block, "--dry-run"))]


@pytest.mark.parametrize(("block", "command"), PLANS, ids=[block.where for block, _ in PLANS])
@pytest.mark.usefixtures("beside_the_files")
def test_a_plan_that_is_shown_is_the_one_that_is_made(block: Block, command: str) -> None:
    """Every line shown stands in the plan of the dry run above it, in that order; `...` stands for lines left out."""
    made = iter(line.rstrip() for line in planned(command).splitlines())
    for line in map(str.rstrip, block.text.splitlines()):
        assert line in ("", "  ...") or line.rstrip() in made, f"{block.where}: {line}\n{planned(command)}"


def test_the_plans_that_are_shown_were_found() -> None:
    assert {"README.md", "docs/gpu.md", "docs/multi-node.md"} <= {block.page for block, _ in PLANS}
