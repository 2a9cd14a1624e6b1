"""README.md and docs/: commands can be typed, what is named exists, examples run, generated pages are current."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest
import yaml
from click.testing import CliRunner
from conftest import REPO_ROOT
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from reasongym import registry
from reasongym.cli import cli
from reasongym.config import RunConfig, load_config, recipe_names
from reasongym.config.algorithms import ALGORITHM_CONFIGS
from reasongym.config.section import Section
from reasongym.tracking.definitions import metric_info
from reasongym.verifiers import REGISTERED

PAGES = [REPO_ROOT / "README.md", *sorted((REPO_ROOT / "docs").rglob("*.md"))]
GENERATED = ("configuration.md", "metrics.md")
SECTIONS = [name for name, field in RunConfig.model_fields.items() if isinstance(field.default, BaseModel)]
METRIC_GROUPS = ("task", "reward", "rollout", "status", "train", "critic", "mismatch", "sync", "step", "eval")
SHELL = {"|", "<", ">", ">>", "&&", ";"}


class Block(NamedTuple):
    """A fenced block: its language, its text, where it stands."""

    language: str
    text: str
    where: str


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        line = text.count("\n", 0, found.start()) + 1
        yield Block(found[1], found[2], f"{page.relative_to(REPO_ROOT)}:{line}")


def shell_lines() -> list[tuple[str, str]]:
    return [(block.where, line) for page in PAGES for block in blocks(page) if block.language == "bash"
            for line in block.text.replace("\\\n", " ").splitlines()]


def code_words() -> Iterator[tuple[str, str]]:
    """Every `word` in prose, with its page."""
    for page in PAGES:
        prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for word in re.findall(r"`([^`\n]+)`", prose):
            yield page.name, word


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to run examples in; names they register are forgotten afterwards."""
    before = dict(REGISTERED)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    REGISTERED.clear()
    REGISTERED.update(before)


def parse(line: str) -> click.Context:
    """A command line through click's own parser; nothing runs. Raises click.UsageError, ConfigError."""
    words = shlex.split(line)
    program, name, *arguments = words[:next((i for i, word in enumerate(words) if word in SHELL), len(words))]
    assert program == "reasongym"
    command = cli.get_command(click.Context(cli), name)
    assert command is not None, f"no command {name!r}"
    context = command.make_context(name, arguments)
    if name == "train":
        recipe = context.params["recipe"] or "cpu"
        named = context.params["algorithm"]
        load_config(recipe, overrides=context.params["overrides"],
                    options={"algorithm": {"name": named}} if named else {})
    return context


COMMANDS = [(where, line) for where, line in shell_lines() if line.startswith("reasongym")]


@pytest.mark.parametrize("line", sorted({line for _, line in COMMANDS}))
def test_every_command_in_the_docs_can_be_typed(line: str) -> None:
    parse(line)


@pytest.mark.parametrize("line", ["reasongym train --taks gsm8k", "reasongym verify --input a", "reasongym sing",
                                  "reasongym train --set a.b=1", "reasongym train --recipe none",
                                  "reasongym tasks --samples many"])
def test_a_wrong_command_would_be_noticed(line: str) -> None:
    with pytest.raises((click.UsageError, ValueError, AssertionError, ImportError)):
        parse(line)


def test_every_make_target_of_the_docs_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (REPO_ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {line.split()[1] for _, line in shell_lines() if line.startswith("make ")}
    assert {"train", "test"} <= named <= targets


def test_every_relative_link_has_its_target() -> None:
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            path = target.partition("#")[0]
            if path and not re.match(r"[a-z]+:", target) and not (page.parent / path).exists():
                broken.append(f"{page.relative_to(REPO_ROOT)} -> {target}")
    assert not broken


def test_every_page_is_in_the_navigation_and_nothing_else_is() -> None:
    def files(entries: list[dict[str, object]]) -> Iterator[str]:
        for value in (value for entry in entries for value in entry.values()):
            yield from files(value) if isinstance(value, list) else [str(value)]

    listed = list(files(yaml.safe_load((REPO_ROOT / "mkdocs.yml").read_text())["nav"]))
    docs = REPO_ROOT / "docs"
    assert sorted(listed) == sorted(str(page.relative_to(docs)) for page in docs.rglob("*.md"))


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_page_is_what_the_code_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(REPO_ROOT / "scripts"))
    import make_docs

    assert (REPO_ROOT / "docs" / name).read_text() == make_docs.PAGES[name](), "run: python scripts/make_docs.py"


def keys() -> Iterator[tuple[str, type[Section], FieldInfo]]:
    """Every dotted key, of every algorithm too, with the section it stands in."""
    for section in SECTIONS:
        default = type(RunConfig.model_fields[section].default)
        models = ALGORITHM_CONFIGS.values() if section == "algorithm" else [default]
        for model in models:
            yield from keys_of(model, f"{section}.")


def keys_of(model: type[Section], prefix: str) -> Iterator[tuple[str, type[Section], FieldInfo]]:
    for key, field in model.model_fields.items():
        if prefix == "algorithm." and key == "name":
            continue
        yield f"{prefix}{key}", model, field
        if isinstance(field.default, Section):
            yield from keys_of(type(field.default), f"{prefix}{key}.")


def test_every_key_and_metric_is_on_its_page() -> None:
    """Against a generator that leaves something out: counted without it."""
    page = (REPO_ROOT / "docs/configuration.md").read_text()
    missing = [key for key, _, _ in keys() if f"| `{key}` |" not in page and f"## {key}\n" not in page]
    assert not missing
    assert [name for name in ALGORITHM_CONFIGS if f"\n## algorithm.name={name}\n" not in page] == []
    assert "| `algorithm.correction.cap` | `2.0` | number > 1 |" in page


def test_every_key_says_what_it_means() -> None:
    silent = [key for key, model, field in keys()
              if not model.meaning(key.rpartition(".")[2]) and not isinstance(field.default, BaseModel)]
    assert not silent


def test_every_configuration_key_in_the_text_exists() -> None:
    known = {key for key, _, _ in keys()} | {"algorithm.name"}
    for page, word in code_words():
        path, _, _ = word.partition("=")
        if not re.fullmatch(rf"({'|'.join(SECTIONS)})(\.[a-z0-9_]+)+", path):
            continue
        assert path in known, f"{page}: no key {path}"


def test_every_metric_in_the_text_is_defined() -> None:
    unknown = [f"{page}: {word}" for page, word in code_words()
               if re.fullmatch(rf"({'|'.join(METRIC_GROUPS)})(/[a-z_<>]+)+", word) and metric_info(word) is None]
    assert not unknown


def test_every_test_the_docs_name_exists() -> None:
    named = [word for _, word in code_words() if re.match(r"(tests/\w+\.py::)?test_\w+$", word)]
    assert len(named) > 10
    every = "\n".join(path.read_text() for path in (REPO_ROOT / "tests").glob("test_*.py"))
    for word in named:
        file, _, test = word.rpartition("::")
        text = (REPO_ROOT / file).read_text() if file else every
        assert f"def {test}(" in text, word


def test_every_recipe_is_told_of() -> None:
    told = (REPO_ROOT / "docs/gpu.md").read_text()
    assert [name for name in recipe_names() if f"| `{name}` |" in told] == recipe_names()


def test_the_examples_of_custom_md_run(workplace: Path) -> None:
    """A block that begins with `# file.py` is that file; any other is executed beside those before it."""
    files = []
    for block in blocks(REPO_ROOT / "docs/custom.md"):
        if block.language == "python" and (title := re.match(r"# (\w+\.py)\n", block.text)):
            (workplace / title[1]).write_text(block.text)
            files.append(workplace / title[1])
        elif block.language == "python":
            exec(compile(block.text, block.where, "exec"), {"__name__": "example"})
    loaded = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    assert {str(file) for file in files} <= loaded, "an example file that no other example uses"
    assert len(files) == 5
    checked = CliRunner().invoke(cli, ["check", "--task", "my_task.py:Backwards", "--set", "length=5", "--rows", "2"])
    assert checked.exit_code == 0, checked.output


def test_the_twelve_line_verifier_has_twelve_lines_and_works(workplace: Path) -> None:
    (shown,) = [block for block in blocks(REPO_ROOT / "README.md") if block.language == "python"]
    assert len(shown.text.splitlines()) <= 12
    (workplace / "my_rules.py").write_text(shown.text)
    even_number = registry.verifier("my_rules.py:even_number")
    answers = {"It is 12.": "correct", "It is 7.": "wrong", "": "unparsable", "9" * 5000: "wrong", "2, then 3": "wrong"}
    assert {answer: str(even_number(answer, None, example={}).status) for answer in answers} == answers  # type: ignore[union-attr]


def test_the_two_pages_show_the_same_verifier() -> None:
    (shown,) = [block for block in blocks(REPO_ROOT / "README.md") if block.language == "python"]
    texts = [block.text for block in blocks(REPO_ROOT / "docs/custom.md")]
    assert f"# my_rules.py\n{shown.text}" in texts
