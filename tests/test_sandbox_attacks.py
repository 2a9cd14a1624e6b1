"""Every program of tests/attacks on every backend: what it gets, what the machine and the next program see of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from attack_suite import ATTACKS, FOLDER, Attack, Machine, machine, run_attack, shortfall, witnessed
from processes import below

from reasongym.sandbox import Ending, Sandbox, open_sandbox
from reasongym.sandbox.local import LAYERS, NEEDED
from reasongym.verifiers.code import code
from reasongym.verifiers.code.sandboxes import SANDBOXES

pytestmark = pytest.mark.timeout(600)  # an engine with its image may have to be made first

BACKENDS = ("local", "docker")
Weakened = Callable[[frozenset[str]], Sandbox]
OF_THE_VERIFIER = {"separation", "values", "output"}
ON_A_WORKER = [attack for attack in ATTACKS if attack.family != "forging"]
FORGERIES = [(attack, kind) for attack in ATTACKS if attack.family == "forging" for kind in attack.words("tests")]
BITES = [attack for attack in ATTACKS if "open without" in attack.said]
TESTS = {"add(1, 2)": 3, "add(40, 2)": 42, "add(100, 7)": 107}
QUICK = {"cpu_s": 1, "memory_mb": 256}
REFERENCES: dict[str, dict[str, object]] = {
    "calls": {"entry_point": "add", "tests": [{"args": [int(a) for a in re.findall(r"\d+", call)], "expected": value}
                                              for call, value in TESTS.items()]},
    "check": {"entry_point": "add", "check": "def check(candidate):\n" + "".join(
        f"    assert candidate{call[3:]} == {value}\n" for call, value in TESTS.items())},
    "lazy": {"entry_point": "add", "check": "def check(candidate):\n    assert all(map(lambda case: "
             "candidate(*case[0]) == case[1], [((1, 2), 3), ((40, 2), 42), ((100, 7), 107)]))\n"},
    "back": {"entry_point": "add", "check": "def check(candidate):\n"
             "    assert candidate(candidate('a', 'b'), candidate('c', 'd')) == 'abcd'\n"},
    "handled": {"entry_point": "add", "imports": [
        "try:\n    import numpy\nexcept ImportError:\n    numpy = None", "class Items:\n    def __init__(self, call):\n"
        "        self.call = call\n    def __getitem__(self, at):\n        return self.call(at, 2)"],
        "check": "def check(candidate):\n    try:\n        candidate(1, 'x')\n        assert False\n"
                 "    except TypeError: pass\n    for at, item in zip(range(3), Items(candidate)):\n"
                 "        assert item == at + 2\n"},
    "asserts": {"entry_point": "add", "tests": [f"assert {call} == {value}" for call, value in TESTS.items()]},
    "stdio": {"stdio": [{"input": "41\n", "output": "42\n"}, {"input": "99\n", "output": "100\n"}]}}


def named(attack: Attack) -> str:
    return f"{attack.family}-{attack.name}"


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "docker":
            patch.setenv("DOCKER_HOST", request.getfixturevalue("docker_host"))
        yield request.param
        SANDBOXES.close()  # the verifier's, before the engine goes


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with machine(tmp_path_factory.mktemp("machine")) as standing:
        yield standing


@pytest.fixture(scope="module")
def sandbox(backend: str) -> Iterator[Sandbox]:
    """One worker, so that every program runs where the one before it did."""
    with open_sandbox(backend, workers=1) as opened:
        yield opened


@pytest.fixture(scope="module")
def digest(outside: Machine) -> str:
    return hashlib.sha256(outside.token.encode()).hexdigest()


@pytest.fixture(scope="module")
def untouched(backend: str, digest: str) -> str:
    """What a program sees on a worker that has served nobody."""
    with open_sandbox(backend, workers=1) as fresh:
        return witnessed(fresh, digest)


def inside(sandbox: Any) -> list[int]:
    """Processes of the local sandbox's worker: of this one, what an earlier test started may end meanwhile."""
    return [pid for worker in sandbox._idle if sandbox.name == "local" for pid in below(worker._enclosure._process.pid)]


@pytest.mark.parametrize("attack", ON_A_WORKER, ids=named)
def test_an_attack_gains_nothing_and_leaves_nothing(attack: Attack, sandbox: Sandbox, outside: Machine, digest: str,
                                                    untouched: str) -> None:
    result = run_attack(attack, sandbox, outside)
    living = inside(sandbox)
    is_open = open_without(attack) and not open_without(attack) & {*sandbox.layers()}  # as where no groups can be made
    assert is_open or not shortfall(attack, result), shortfall(attack, result)
    assert not outside.harm()
    assert witnessed(sandbox, digest) == untouched
    if sandbox.name == "local":
        assert living == inside(sandbox), "a process of the attack outlived it"


@pytest.mark.parametrize(("attack", "kind"), FORGERIES, ids=lambda part: getattr(part, "name", part))
def test_a_forgery_earns_nothing(attack: Attack, kind: str, backend: str) -> None:
    limits = {key: float(value) for key, value in (pair.split("=") for pair in attack.words("limits"))}
    for partial in (False, True):
        reference = {**REFERENCES[kind], "limits": QUICK | limits, "partial": partial}
        verdict = code(f"```python\n{attack.source.decode()}```", reference, example={"sandbox": backend})
        assert (verdict.score, str(verdict.status) in attack.words("verdict")) == (0.0, True), verdict


@pytest.mark.parametrize("kind", REFERENCES)
def test_what_forgeries_fail_an_honest_answer_passes(kind: str, backend: str) -> None:
    honest = "print(int(input()) + 1)" if kind == "stdio" else "def add(a, b):\n    return a + b"
    verdict = code(f"```python\n{honest}\n```", REFERENCES[kind] | {"limits": QUICK}, example={"sandbox": backend})
    assert verdict.score == 1.0, verdict


# --- the suite bites ---


def open_without(attack: Attack) -> frozenset[str]:
    return frozenset(attack.words("open without"))


@pytest.fixture(scope="module")
def weakened() -> Iterator[Weakened]:
    """Local sandboxes without layers, opened when first asked for."""
    with ExitStack() as stack:
        yield cache(lambda without: stack.enter_context(open_sandbox("local", workers=1, without=without)))


def succeeds(attack: Attack, sandbox: Sandbox, outside: Machine, digest: str) -> bool:
    """Whether it says so, or the next program can tell."""
    for_the_next = attack.family == "contamination"
    before = witnessed(sandbox, digest) if for_the_next else ""
    said_so = "BREACH" in run_attack(attack, sandbox, outside).stdout.decode(errors="replace")
    return said_so or (for_the_next and witnessed(sandbox, digest) != before)


@pytest.mark.parametrize("attack", BITES, ids=named)
def test_without_its_layers_an_attack_succeeds_and_with_one_of_them_it_does_not(
        attack: Attack, weakened: Weakened, outside: Machine, digest: str) -> None:
    without = open_without(attack)
    if not without <= {*LAYERS, *weakened(frozenset()).layers()}:
        pytest.skip(f"no control groups: {attack.name} cannot be stopped here by what is to be taken away")
    try:
        for layer in without if len(without) > 1 else ():
            assert not succeeds(attack, weakened(without - {layer}), outside, digest), layer
        assert succeeds(attack, weakened(without), outside, digest)
    finally:
        while outside.harm().startswith("a service was reached"):
            for server in (outside.loopback, outside.abstract):
                server.settimeout(0.01)
                try:
                    server.accept()[0].close()
                except TimeoutError:
                    continue


def test_every_layer_that_can_be_left_out_is_shown_to_matter() -> None:
    shown = frozenset().union(*(open_without(attack) for attack in BITES))
    assert shown == {*LAYERS, "cgroup"} - NEEDED


def test_where_no_control_group_counts_the_agent_does_shared_memory_too(weakened: Weakened,
                                                                        outside: Machine) -> None:
    """Its peak is not bounded: the agent looks every 50 ms, on a busy machine later, and pages go on being made."""
    (attack,) = [attack for attack in ATTACKS if attack.name == "memory_shared"]
    result = run_attack(attack, weakened(frozenset({"cgroup"})), outside)
    assert (result.ending, b"BREACH" in result.stdout) == (Ending.MEMORY, False), result


# --- the suite itself ---


def test_the_suite_is_large_and_every_program_says_what_it_must_get() -> None:
    families = {family: sum(attack.family == family for attack in ATTACKS) for family in
                ("forging", "resources", "escape", "contamination")}
    assert len(ATTACKS) >= 60
    assert min(families.values()) >= 15
    for attack in ATTACKS:
        needed = {"tries", "stopped by", *(("tests", "verdict") if attack.family == "forging" else ("ends",))}
        assert needed <= attack.said.keys() <= needed | {"open without", "limits", "channel"}, attack.name
        assert {*attack.words("stopped by")} <= {*LAYERS, "cgroup"} | OF_THE_VERIFIER, attack.name
        assert open_without(attack) <= {*attack.words("stopped by")}, attack.name


def test_the_numbers_of_system_calls_are_those_of_the_filter() -> None:
    from reasongym.sandbox import syscalls

    text = (FOLDER / "attack.py").read_text()
    known = {**syscalls.ALLOWED, **syscalls.CONDITIONAL, **syscalls.ABSENT, **syscalls.FATAL}
    wrong = [entry for entry in re.findall(r"(\w+):(\d+):(\d+|-)", text)
             if entry[0] in known and tuple(None if number == "-" else int(number) for number in entry[1:])
             != known[entry[0]]]
    assert not wrong


def test_the_page_on_the_sandbox_names_every_attack_beside_what_stops_it(repo_root: Path) -> None:
    page = (repo_root / "docs/sandbox.md").read_text()
    expected = [f"| `{layer}` | {', '.join(sorted(names))} |" for layer, names in by_layer().items()]
    assert not [line for line in expected if line not in page], "\n" + "\n".join(expected)


def by_layer() -> dict[str, list[str]]:
    """Layer -> attacks it is the first to stop."""
    found: dict[str, list[str]] = {}
    for attack in ATTACKS:
        found.setdefault(attack.words("stopped by")[0], []).append(attack.name)
    return dict(sorted(found.items()))
