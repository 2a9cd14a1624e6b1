"""README.md and docs/: what is named exists, examples run, generated pages are current, nothing is out of reach."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from conftest import REPO_ROOT
from doc_pages import PAGES, README, blocks, code_words, name_of
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from reasongym import registry
from reasongym.cli import cli
from reasongym.config import RunConfig, recipe_names
from reasongym.config.algorithms import ALGORITHM_CONFIGS
from reasongym.config.section import Section
from reasongym.tracking.definitions import metric_info
from reasongym.tracking.step_line import StepLine
from reasongym.verifiers import REGISTERED

GENERATED = ("configuration.md", "metrics.md")
SECTIONS = [name for name, field in RunConfig.model_fields.items() if isinstance(field.default, BaseModel)]
METRIC_GROUPS = ("task", "reward", "rollout", "status", "train", "critic", "mismatch", "sync", "step", "eval")
MESSAGE_PAGES = ("troubleshooting.md", "multi-node.md")
EXAMPLES = {  # page -> the test that runs its Python
    "README.md": "test_the_twelve_line_verifier_has_twelve_lines_and_works",
    "docs/custom.md": "test_the_examples_of_custom_md_run",
    "docs/getting-started.md": "test_a_final_model_loads_as_the_page_says",
    "docs/sandbox.md": "test_the_example_of_the_sandbox_runs",
    "docs/verifiers/composite.md": "test_the_composite_of_the_docs_is_a_verifier_of_a_file",
}


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to run examples in; names they register are forgotten afterwards."""
    before = dict(REGISTERED)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    REGISTERED.clear()
    REGISTERED.update(before)


def test_every_relative_link_has_its_target() -> None:
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            path, _, anchor = target.partition("#")
            aim = page.parent / path if path else page
            if re.match(r"[a-z]+:", target):
                continue
            if not aim.exists() or (anchor and anchor not in anchors(aim)):
                broken.append(f"{name_of(page)} -> {target}")
    assert not broken


def anchors(page: Path) -> set[str]:
    """Of its headings, as the site makes them."""
    headings = re.findall(r"^#+ +(.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", re.sub(r"[`*]", "", heading)).strip().lower() for heading in headings)
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


def test_every_page_is_in_the_navigation_and_nothing_else_is() -> None:
    def files(entries: list[dict[str, object]]) -> Iterator[str]:
        for value in (value for entry in entries for value in entry.values()):
            yield from files(value) if isinstance(value, list) else [str(value)]

    listed = list(files(yaml.safe_load((REPO_ROOT / "mkdocs.yml").read_text())["nav"]))
    docs = REPO_ROOT / "docs"
    assert sorted(listed) == sorted(str(page.relative_to(docs)) for page in docs.rglob("*.md"))


def test_the_site_is_built_strictly(repo_root: Path) -> None:
    """`--quiet` silences warnings before `strict` counts them: a dead anchor then builds."""
    (build,) = re.findall(r"mkdocs build.*", (repo_root / "Makefile").read_text())
    site = yaml.safe_load((repo_root / "mkdocs.yml").read_text())
    assert "--quiet" not in build
    assert site["strict"] is True
    assert set(site["validation"]["links"].values()) == set(site["validation"]["nav"].values()) == {"warn"}


def test_every_page_can_be_reached_by_links_from_the_first(repo_root: Path) -> None:
    """Against a page that only the navigation knows."""
    reached, ahead = set[Path](), [repo_root / "docs/index.md"]
    while ahead:
        page = ahead.pop()
        if page.suffix == ".md" and page.exists() and page not in reached:
            reached.add(page)
            ahead += [(page.parent / target.partition("#")[0]).resolve()
                      for target in re.findall(r"\]\(([^)\s:]+)\)", page.read_text(encoding="utf-8"))]
    here = [page for page in PAGES if page != README and page.parent.name != "adr"]
    assert [name_of(page) for page in here if page not in reached] == []


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


def test_every_page_with_python_has_a_test_that_runs_it(repo_root: Path) -> None:
    assert {name_of(page) for page in PAGES if any(blocks(page, "python"))} == EXAMPLES.keys()
    every = "\n".join(path.read_text() for path in (repo_root / "tests").glob("test_*.py"))
    assert [test for test in EXAMPLES.values() if f"def {test}(" not in every] == []


def test_the_example_of_the_sandbox_runs(workplace: Path) -> None:
    (shown,) = blocks(REPO_ROOT / "docs/sandbox.md", "python")
    exec(compile(shown.text, shown.where, "exec"), {"__name__": "example"})


@pytest.mark.stack
def test_a_final_model_loads_as_the_page_says(workplace: Path, tiny: Path) -> None:
    (shown,) = blocks(REPO_ROOT / "docs/getting-started.md", "python")
    (workplace / "runs/arith").mkdir(parents=True)
    (workplace / "runs/arith/final").symlink_to(tiny)
    names: dict[str, object] = {"__name__": "example"}
    exec(compile(shown.text, shown.where, "exec"), names)
    assert names["model"].config.num_hidden_layers == 2  # type: ignore[attr-defined]
    assert names["tokenizer"].chat_template  # type: ignore[attr-defined]


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
    (shown,) = blocks(README, "python")
    assert len(shown.text.splitlines()) <= 12
    (workplace / "my_rules.py").write_text(shown.text)
    even_number = registry.verifier("my_rules.py:even_number")
    answers = {"It is 12.": "correct", "It is 7.": "wrong", "": "unparsable", "9" * 5000: "wrong", "2, then 3": "wrong"}
    assert {answer: str(even_number(answer, None, example={}).status) for answer in answers} == answers  # type: ignore[union-attr]


def test_the_two_pages_show_the_same_verifier() -> None:
    (shown,) = blocks(README, "python")
    texts = [block.text for block in blocks(REPO_ROOT / "docs/custom.md", "python")]
    assert f"# my_rules.py\n{shown.text}" in texts


@pytest.fixture(scope="module")
def spoken(source_files: Mapping[str, Path]) -> set[str]:
    """Every text in the source; what is filled in stands as `...`."""
    found = set()
    for path in source_files.values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                found.add("".join(part.value if isinstance(part, ast.Constant) else "..." for part in node.values))
    return found


def is_said(quoted: str, spoken: set[str]) -> bool:
    """Whether a text of the source holds it with its gaps, or becomes it when they are filled."""
    filled = (re.compile(".+?".join(map(re.escape, text.split("...")))) for text in spoken
              if "..." in text and len(text.replace("...", "")) > 10)
    return any(quoted in text for text in spoken) or any(pattern.fullmatch(quoted) for pattern in filled)


@pytest.mark.parametrize("page", MESSAGE_PAGES)
def test_every_message_that_is_quoted_is_one_that_the_code_prints(page: str, spoken: set[str]) -> None:
    quoted = messages_of(REPO_ROOT / "docs" / page)
    assert len(quoted) > 8
    assert [text for text in sorted(quoted) if not is_said(text, spoken)] == []
    assert not is_said("the engines are tired", spoken)


def messages_of(page: Path) -> set[str]:
    """What stands in code in the first cells of tables that are headed `message` or `it says`."""
    found: set[str] = set()
    for table in re.findall(r"^\| (?:message|it says) \|.*\n\|[-|]+\n((?:\|.*\n)+)", page.read_text(), re.MULTILINE):
        for row in table.splitlines():
            found |= set(re.findall(r"`([^`]+)`", row.split(" | ")[0]))
    return found


def test_the_start_of_a_run_is_shown_as_it_is_printed(source_files: Mapping[str, Path]) -> None:
    announced = re.findall(r'^        "(\w+)": ', source_files["reasongym.training.run"].read_text(), re.MULTILINE)
    shown = [block for page in PAGES for block in blocks(page, "text") if "\nfolder     runs/" in block.text]
    assert len(shown) == 2
    for block in shown:
        assert re.findall(r"^([a-z]+)  +", block.text, re.MULTILINE)[:len(announced)] == announced, block.where


def test_the_line_of_a_step_is_shown_as_it_is_printed() -> None:
    (heading,) = [line for page in PAGES for block in blocks(page, "text") for line in block.text.splitlines()
                  if line.startswith(" step  ")]
    metrics = dict.fromkeys(("reward/mean", "reward/correct"), 0.5)
    assert heading.split() == StepLine(20, width=1000).heading(metrics).split()
