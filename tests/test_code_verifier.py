"""The verifier `code` on a real sandbox: right and wrong programs, forgeries, policies, limits, failures of ours."""

from __future__ import annotations

import json
import textwrap
import threading
from typing import Any

import pytest

from reasongym.sandbox import Job, Limits, SandboxError, open_sandbox
from reasongym.verifiers import Status, Verdict
from reasongym.verifiers.code import code
from reasongym.verifiers.code.extraction import MAX_CHARS, choices
from reasongym.verifiers.code.inside.values import encode
from reasongym.verifiers.code.judgement import Trial, judge
from reasongym.verifiers.code.limits import read_limits
from reasongym.verifiers.code.programs import CALLER, program
from reasongym.verifiers.code.sandboxes import SANDBOXES, Sandboxes

ADD = {"entry_point": "add", "tests": [{"args": [1, 2], "expected": 3}, {"args": [40, 2], "expected": 42}],
       "limits": {"cpu_s": 1}}
CHECK = {"entry_point": "add", "check": "def check(candidate):\n    assert candidate(1, 2) == 3\n"
                                        "    assert candidate(40, b=2) == 42\n", "limits": {"cpu_s": 1}}
ASSERTS = {"entry_point": "add", "tests": ["assert add(1, 2) == 3", "assert add(40, 2) == 42"], "limits": {"cpu_s": 1}}
ECHO = {"stdio": [{"input": "1\n", "output": "2\n"}, {"input": "41\n", "output": "42"}], "limits": {"cpu_s": 1}}
KINDS = (ADD, CHECK, ASSERTS)


def fenced(source: str) -> str:
    return f"```python\n{textwrap.dedent(source)}\n```"


def judged(source: str, reference: object, **example: object) -> Verdict:
    return code(fenced(source), reference, example=example)


@pytest.mark.parametrize("reference", KINDS, ids=("calls", "check", "asserts"))
@pytest.mark.parametrize(("source", "status"), [
    ("def add(a, b): return a + b", Status.CORRECT),
    ("add = lambda a, b: a + b", Status.CORRECT),
    ("from operator import add", Status.CORRECT),
    ("class Adder:\n    def __call__(self, a, b):\n        return a + b\nadd = Adder()", Status.CORRECT),
    ("def add(a, b):\n    pass", Status.WRONG),
    ("def add(a, b): return 3", Status.WRONG),
    ("def add(a, b): return a - b", Status.WRONG),
    ("def add(a, b): raise ValueError('no')", Status.WRONG),
    ("def add(a, b): return a + b\nraise RuntimeError", Status.WRONG),
    ("import nothing_of_that_name\ndef add(a, b): return a + b", Status.WRONG),
    ("def add(a, b):\n    while True: pass", Status.TIMEOUT),
    ("def sub(a, b): return a + b", Status.UNPARSABLE),
    ("def add(a, b) return a + b", Status.UNPARSABLE),
])
def test_right_and_wrong_functions(source: str, status: Status, reference: object) -> None:
    if "operator" in source and reference is CHECK:
        reference = ASSERTS  # `candidate(40, b=2)`: operator.add takes no names
    verdict = judged(source, reference)
    assert verdict.status is status, verdict.reason


FORGERIES = {
    "an object equal to everything": """
        class Equal:
            def __eq__(self, other): return True
            def __ne__(self, other): return False
            __hash__ = None
        def add(a, b): return Equal()""",
    "an int equal to everything": """
        class Equal(int):
            def __eq__(self, other): return True
            def __ne__(self, other): return False
            def __reduce__(self): return (int, (3,))
        def add(a, b): return Equal(7)""",
    "an object that lies about its class": """
        class Liar:
            __class__ = int
            def __eq__(self, other): return True
        def add(a, b): return Liar()""",
    "exit at import": "import sys\ndef add(a, b): return 0\nsys.exit(0)",
    "hard exit at import": "import os\ndef add(a, b): return 0\nos._exit(0)",
    "exit in the function": "def add(a, b): raise SystemExit(0)",
    "hard exit in the function": "import os\ndef add(a, b): os._exit(0)",
    "KeyboardInterrupt": "def add(a, b): raise KeyboardInterrupt",
    "GeneratorExit": "def add(a, b): raise GeneratorExit",
    "AssertionError of its own": "def add(a, b): raise AssertionError",
    "a generator": "def add(a, b):\n    yield a + b",
    "a coroutine": "async def add(a, b): return a + b",
    "atexit": """
        import atexit
        atexit.register(lambda: print("passed"))
        def add(a, b): return 0""",
    "printed results": """
        def add(a, b):
            print('{"score": 1.0, "status": "correct"}', flush=True)
            return 0""",
    "builtins replaced": """
        import builtins, json
        builtins.isinstance = builtins.all = builtins.any = lambda *args: True
        builtins.AssertionError = type("AssertionError", (BaseException,), {"__init__": lambda self: None})
        json.loads = json.dumps = lambda *args, **kwargs: True
        def add(a, b): return 0""",
    "frames walked for an expected value": """
        import sys, gc
        def add(a, b):
            frame, seen = sys._getframe(), []
            while frame:
                seen += [v for v in frame.f_locals.values()]
                frame = frame.f_back
            seen += [o for o in gc.get_objects() if type(o) is dict and "expected" in o]
            for value in seen:
                if type(value) is dict and "expected" in value:
                    return value["expected"]
            return 0""",
    "memory read through /proc": """
        def add(a, b):
            try:
                maps = open("/proc/self/maps").read().splitlines()
                with open("/proc/self/mem", "rb", 0) as memory:
                    for line in maps:
                        if "[heap]" in line:
                            low, high = (int(x, 16) for x in line.split()[0].split("-"))
                            memory.seek(low)
                            if b"expected" in memory.read(high - low):
                                return a + b
            except OSError:
                pass
            return 0""",
    "its own answer to every call": """
        import os, struct
                def add(a, b):
            inner = encode(("value", 3))
            frame = encode(("ended", 0, 0.0, inner))
            os.write(3, struct.pack(">I", len(frame)) + frame)
            os._exit(0)""",
    "a verdict on the channel": """
        import os, struct
                for said in (("passed", b"0" * 16, [True], ""), ("loaded", 0), ("passed", b"0" * 16, [True, True], "")):
            frame = encode(said)
            os.write(3, struct.pack(">I", len(frame)) + frame)
        def add(a, b): return 0""",
    "noise on the channel": "import os\nos.write(3, b'\\xff' * 4096)\ndef add(a, b): return 0",
    "a closed channel": "import os\nos.close(3)\ndef add(a, b): return 0",
    "a cycle": "def add(a, b):\n    x = []\n    x.append(x)\n    return x",
    "a list a million deep": """
        def add(a, b):
            x = []
            for _ in range(10**6): x = [x]
            return x""",
    "an endless int": "def add(a, b): return 1 << 10**8",
    "nan": "def add(a, b): return float('nan')",
    "True for the tests that pass on truth": "def add(a, b): return True",
    "arguments that grow": "seen = []\ndef add(a, b):\n    seen.append(a)\n    return 3 if len(seen) == 1 else 42",
    "files left for the next call": """
        import os
        def add(a, b):
            if os.path.exists("mark"): return 42
            open("mark", "w").close()
            return 0""",
    "fork and answer twice": "import os\ndef add(a, b):\n    os.fork()\n    return 0",
    "a module that shadows another": """
        open("struct.py", "w").write("def pack(*a): return b''")
        def add(a, b): return 0""",
}


@pytest.mark.parametrize("reference", KINDS, ids=("calls", "check", "asserts"))
@pytest.mark.parametrize("name", FORGERIES)
def test_no_forgery_earns_anything(name: str, reference: object) -> None:
    verdict = judged(FORGERIES[name], reference)
    assert verdict.score == 0.0
    assert verdict.status in (Status.WRONG, Status.TIMEOUT, Status.UNPARSABLE), verdict.reason


def test_the_candidates_sandbox_holds_no_test() -> None:
    """All that is sent there: the caller, the code, and calls. What is expected is in none of it."""
    files = b"".join(program(CALLER).values())
    assert b"expected value" in files  # the docstring says so
    assert not [word for word in (b"nonce", b"comparing", b"Verdict") if word in files]


@pytest.mark.parametrize(("body", "status"), [
    ("print(int(input()) + 1)", Status.CORRECT),
    ("if __name__ == '__main__':\n    print(int(input()) + 1)", Status.CORRECT),
    ("import os\nprint(int(input()) + 1, flush=True)\nos._exit(0)", Status.CORRECT),
    ("print(2)\nprint(42)", Status.WRONG),
    ("print(2)", Status.WRONG),
    ("print('Answer:', int(input()) + 1)", Status.WRONG),
    ("print(int(input()) + 1)\nraise SystemExit(1)", Status.WRONG),
    ("print(int(input()) + 1)\n1 / 0", Status.WRONG),
    ("import sys\nprint(sys.stdin.read())", Status.WRONG),
    ("while True: pass", Status.TIMEOUT),
    ("print(int(input()) + 1, end='\\n' * 2_000_000 + 'junk')", Status.WRONG),
    ("print((int(input()) + 1)", Status.UNPARSABLE),
])
def test_right_and_wrong_programs(body: str, status: Status) -> None:
    verdict = judged(body, ECHO)
    assert verdict.status is status, verdict.reason


# --- which code counts ---

GOOD, BAD = "def add(a, b):\n    return a + b", "def add(a, b):\n    return 0"


@pytest.mark.parametrize(("response", "status"), [
    (GOOD, Status.CORRECT),
    (f"Sure!\n{fenced(GOOD)}\nThat is it.", Status.CORRECT),
    (f"<think>\n{fenced(BAD)}\n</think>\n{fenced(GOOD)}", Status.CORRECT),
    (f"<think>\n{fenced(GOOD)}", Status.UNPARSABLE),
    (f"{fenced(BAD)}\nBetter:\n{fenced(GOOD)}", Status.CORRECT),
    (f"{fenced(GOOD)}\nOr:\n{fenced(BAD)}", Status.WRONG),
    (f"{fenced(GOOD)}\nFor example:\n```python\nadd(1, 2)\n```", Status.CORRECT),
    (f"{fenced(GOOD)}\n```text\n{BAD}\n```", Status.CORRECT),
    (f"```\n{GOOD}\n```", Status.CORRECT),
    (f"~~~py\n{GOOD}\n~~~", Status.CORRECT),
    (f"1. Like this:\n   ```python\n   {GOOD.replace(chr(10), chr(10) + '   ')}\n   ```", Status.CORRECT),
    (f"```python\n{GOOD}", Status.UNPARSABLE),
    (f"```javascript\n{GOOD}\n```", Status.UNPARSABLE),
    (f'```python\n{GOOD}\nNOTE = """\n```\nnot the end\n```\n"""\n```', Status.CORRECT),
    (f"{fenced(GOOD)}\nif __name__ == '__main__':", Status.CORRECT),
    (fenced(f"{GOOD}\nif __name__ == '__main__':\n    raise SystemExit(1)"), Status.CORRECT),
    (fenced(f"# -*- coding: latin-1 -*-\n{GOOD}"), Status.CORRECT),
    (fenced(f"\ufeff{GOOD}"), Status.CORRECT),
    (fenced(f"{GOOD}\nx = '\0'"), Status.UNPARSABLE),
    (fenced(f"{GOOD}\n# {'x' * 5_000_000}"), Status.UNPARSABLE),
    (fenced(f"{GOOD}\nx = {'-' * 200_000}1"), Status.UNPARSABLE),
    (fenced(f"{GOOD}\nx = '\ud800'"), Status.UNPARSABLE),
    (f"The answer is to define add.\n{GOOD}", Status.UNPARSABLE),
    ("", Status.UNPARSABLE),
    ("```python\n```" * 300, Status.UNPARSABLE),
])
def test_which_code_counts(response: str, status: Status) -> None:
    verdict = code(response, ADD, example={})
    assert verdict.status is status, verdict.reason


@pytest.mark.parametrize("response", [
    "    return a + b", "return a + b", fenced("return a + b"), fenced("    return a + b"),
    "    total = a\n    for _ in range(b):\n        total += 1\n    return total",
    fenced("def add(a, b):\n    return helper(a) + b")])
def test_code_that_continues_the_prompt_counts_and_has_its_helpers(response: str) -> None:
    prompt = 'def helper(x):\n    return x\n\ndef add(a, b):\n    """The sum."""\n'
    assert code(response, CHECK, example={"prompt": prompt}).status is Status.CORRECT
    assert code("    return a - b", CHECK, example={"prompt": prompt}).status is Status.WRONG


def test_a_prompt_that_is_a_sentence_is_no_head() -> None:
    for prompt in ("Write a function that adds.", "Complete this:\n\ndef add(a, b):\n    ...\n\nThank you!"):
        for reference in KINDS:
            assert code(fenced(GOOD), reference, example={"prompt": prompt}).status is Status.CORRECT


def test_a_fence_line_of_a_million_spaces_is_read_once() -> None:
    """With unbounded repeats around the label each of its spaces would be tried as the label's beginning."""
    assert choices(f"```{' ' * 10**6}x\n{GOOD}\n```", "add").sources == ()


def test_many_long_blocks_are_cut_down_to_the_last_ones() -> None:
    filler = "#" * (MAX_CHARS - 100)
    found = choices("\n".join(fenced(f"{filler}{n}\n{GOOD}") for n in range(20)), "add").sources
    assert len(found) == 2
    assert f"{filler}19\n" in found[0]


def test_what_is_too_long_is_not_sent_to_a_compiler() -> None:
    assert choices("x" * (MAX_CHARS + 1), None).sources == ()


def test_a_program_may_be_its_last_marked_block() -> None:
    shown = "```python\nprint(int(input()) + 1)\n```\nFor 1 it prints\n```\n2\n```"
    assert code(shown, ECHO, example={}).status is Status.CORRECT


# --- tests and their policies ---


def test_a_call_changes_nothing_for_the_next() -> None:
    source = "seen = []\ndef f(values):\n    values.append(1)\n    seen.append(1)\n    return [len(values), len(seen)]"
    tests = [{"args": [[]], "expected": [1, 1]}] * 3
    assert judged(source, {"entry_point": "f", "tests": tests}).status is Status.CORRECT


def test_keyword_arguments_and_loosened_comparisons() -> None:
    reference = {"entry_point": "f", "tests": [{"kwargs": {"x": 1}, "expected": 0.3}], "float_tolerance": 1e-9}
    assert judged("def f(x): return 0.1 + 0.2", reference).status is Status.CORRECT
    del reference["float_tolerance"]
    assert judged("def f(x): return 0.1 + 0.2", reference).status is Status.WRONG
    unordered = {"entry_point": "f", "tests": [{"expected": [1, 2]}], "compare": "unordered"}
    assert judged("def f(): return [2, 1]", unordered).status is Status.CORRECT


def test_partial_pays_the_share_of_what_counts() -> None:
    tests = [{"args": [n], "expected": n * n} for n in (0, 1, 2, 3)]
    reference = {"entry_point": "f", "tests": tests, "partial": True}
    verdict = judged("def f(n): return n", reference)
    assert (verdict.status, verdict.score) == (Status.PARTIAL, 0.5)  # 0 and 1 are their own squares
    assert judged("def f(n): return n * n", reference).score == 1.0
    assert judged("def f(n): return -1", reference).status is Status.WRONG
    hangs = "def f(n):\n    while n == 1: pass\n    return n * n"
    assert judged(hangs, {**reference, "limits": {"cpu_s": 1}}).score == 0.75


def test_partial_counts_assertions_and_goes_on_after_a_time_out() -> None:
    asserts = ["assert f(1) == 1", "assert f(2) == 4", "assert f(3) == 9", "try:\n    f(1)\nexcept BaseException: pass"]
    source = "def f(n):\n    while n == 1: pass\n    return n * n"
    verdict = judged(source, {"entry_point": "f", "tests": asserts, "partial": True, "limits": {"cpu_s": 1}})
    assert verdict.score == 0.5, "a test that swallows a time-out does not pass"


def test_shown_tests_have_to_pass_and_earn_nothing() -> None:
    reference = {"entry_point": "f", "shown": [{"args": [1], "expected": 1}], "partial": True,
                 "hidden": [{"args": [7], "expected": 49}, {"args": [8], "expected": 64}]}
    known_by_heart = judged("def f(n): return 1", reference)
    assert known_by_heart.score == 0.0
    assert "49" not in known_by_heart.reason
    assert judged("def f(n): return n * n", reference).status is Status.CORRECT
    # All that count pass and a shown one fails: 2 of 3 tests.
    assert judged("def f(n): return n * n if n > 1 else 0", reference).score == pytest.approx(2 / 3)


def test_a_hidden_test_is_told_in_no_reason() -> None:
    hidden = judged("def add(a, b): return 0", {"entry_point": "add", "hidden": ADD["tests"]})
    assert hidden.reason == "test 1 of 2, hidden: failed"
    assert "expected 3" in judged("def add(a, b): return 0", ADD).reason


@pytest.mark.parametrize(("check", "status"), [
    ("assert candidate(1) == 1", Status.CORRECT),
    ("assert candidate([1, (2,)]) == [1, (2,)]", Status.CORRECT),
    ("try:\n        candidate('raise')\n    except KeyError as e: assert 'gone' in str(e)\n    else: assert False",
     Status.CORRECT),
    ("try:\n        candidate('own')\n    except Exception as e: assert type(e).__name__ == 'Own'", Status.CORRECT),
    ("candidate('raise')", Status.WRONG),
    ("x = [3]\n    candidate(x)\n    assert x == [3]", Status.CORRECT),
    ("assert helper(2) == 4 and candidate(1) == 1", Status.CORRECT),
    ("assert math.sqrt(candidate(4)) == 2", Status.CORRECT),
    ("assert len(candidate(3)) == 1", Status.WRONG),
    ("assert candidate('match')", Status.CORRECT),
    ("assert candidate('match') == candidate('match')", Status.WRONG),
    ("assert candidate('match') == 1", Status.WRONG),
])
def test_what_a_check_may_do(check: str, status: Status) -> None:
    source = """
        import re
        class Own(Exception): pass
        def helper(x): return x * x
        def f(x):
            if x == "raise": raise KeyError("gone")
            if x == "own": raise Own
            if x == "match": return re.match("a", "a")
            if type(x) is list: x.append(0)
            return x[:-1] if type(x) is list else x"""
    verdict = judged(source, {"entry_point": "f", "check": f"def check(candidate):\n    {check}\n"})
    assert verdict.status is status, verdict.reason


# --- what is nobody's answer: ERROR, never a reward ---


PASSED = (lambda frame: len(frame).to_bytes(4, "big") + frame)(encode(("passed", b"0" * 16, [True], "")))
"""What the tests' session says at the end, under a nonce that is not this one."""


@pytest.mark.parametrize(("check", "says"), [
    ("def check(candidate) assert", "SyntaxError"), ("x = 1", "no check"),
    ("def check(candidate): 1 / 0", "ZeroDivision"),
    ("import nothing_of_that_name\ndef check(candidate): pass", "ModuleNotFound"),
    ("def check(candidate):\n    candidate(1, 2)\n    import nothing_of_that_name", "ModuleNotFound"),
    ("def check(candidate):\n    while True: pass", "out of time"),
    ("def check(candidate): candidate(lambda: 0, 1)", "does not travel"),
    ("import os\ndef check(candidate): os._exit(0)", "ended"),
    ("import os\ndef check(candidate): os.write(3, b'\\0\\0\\0\\1T')", "themselves"),
    (f"import os\ndef check(candidate): os.write(3, {PASSED!r})", "themselves"),
])
def test_tests_that_fail_by_themselves_are_an_error(check: str, says: str) -> None:
    limits = {"cpu_s": 1, "total_cpu_s": 1}
    verdict = judged("def add(a, b): return a + b", {"entry_point": "add", "check": check, "limits": limits})
    assert verdict.status is Status.ERROR
    assert says in verdict.reason


def test_an_answer_that_keeps_its_tests_busy_does_not_leave_its_group() -> None:
    check = "def check(candidate):\n    assert sum(1 for _ in range(candidate(1, 2))) == 3"
    reference = {"entry_point": "add", "check": check, "limits": {"cpu_s": 1, "total_cpu_s": 1}}
    verdict = judged("def add(a, b): return 10**18", reference)
    assert (verdict.status, verdict.score) == (Status.TIMEOUT, 0.0)
    assert judged("def add(a, b): return a + b", reference).status is Status.CORRECT


@pytest.mark.parametrize(("reference", "says"), [
    (None, "an object"), ("{", "JSON"), ({}, "one of"), ({"entry_point": "f", "tests": []}, "no tests"),
    ({"stdio": []}, "no tests"), ({"entry_point": "f", "tests": [], "shown": [{"expected": 1}]}, "no tests"),
    ({"tests": [{"expected": 1}]}, "entry_point"), ({"entry_point": "f(", "tests": [{"expected": 1}]}, "entry_point"),
    ({"entry_point": "f", "tests": [{"args": [1]}]}, "a test is"), ({"entry_point": "f", "tests": "assert"}, "a list"),
    ({"entry_point": "f", "tests": [{"args": 1, "expected": 1}]}, "a test is"),
    ({"stdio": [{"input": "1"}]}, "a test is"),
    ({"entry_point": "f", "check": ""}, "source text"), ({**ADD, "check": "x"}, "one of"),
    ({**ADD, "float_tolerence": 1}, "did you mean 'float_tolerance'"), ({**ADD, "compare": "fuzzy"}, "compare"),
    ({**ADD, "float_tolerance": 2}, "float_tolerance"), ({**ADD, "limits": {"cpu": 1}}, "did you mean 'cpu_s'"),
    ({**ADD, "limits": {"cpu_s": 0.001}}, "from 0.1"), ({**ADD, "limits": {"memory_mb": 1}}, "from 64"),
    ({"entry_point": "f", "tests": [{"args": [list(range(250_000))], "expected": 1}]}, "items"),
    ({"entry_point": "f", "tests": [{"args": [1 << 10**6], "expected": 1}]}, "an int of"),
    ({"entry_point": "f", "tests": [{"args": [{1 + n * (2**61 - 1) for n in range(1000)}], "expected": 1}]}, "hashes"),
    ({"stdio": [{"output": "x" * (5 * 2**20)}]}, "4194304 bytes"),
    ({**ADD, "partial": 1}, "partial"), ({**CHECK, "compare": "float"}, "own"),
])
def test_a_reference_that_cannot_be_used_is_an_error(reference: object, says: str) -> None:
    verdict = judged("def f(): pass", reference)
    assert verdict.status is Status.ERROR
    assert says in verdict.reason


class Failing:
    """A sandbox whose next `times` sessions fail."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.real = open_sandbox("local", workers=2)

    def open(self, job: Job) -> Any:
        if self.times:
            self.times -= 1
            raise SandboxError("the worker was killed")
        return self.real.open(job)

    def close(self) -> None:
        self.real.close()


@pytest.mark.parametrize(("times", "status"), [(1, Status.CORRECT), (2, Status.ERROR)])
def test_a_sandbox_that_fails_is_tried_once_more_and_is_no_verdict(monkeypatch: pytest.MonkeyPatch, times: int,
                                                                  status: Status) -> None:
    failing = Sandboxes(lambda name: Failing(times))  # type: ignore[arg-type, return-value]
    monkeypatch.setattr("reasongym.verifiers.code.SANDBOXES", failing)
    verdict = judged("def add(a, b): return a + b", ADD)
    failing.close()
    assert verdict.status is status
    assert ("sandbox:" in verdict.reason) == (status is Status.ERROR)


def test_a_backend_that_cannot_be_had_is_an_error() -> None:
    verdict = judged("def add(a, b): return a + b", ADD, sandbox="docker of another machine")
    assert verdict.status is Status.ERROR


def test_one_sandbox_a_process_serves_many_threads_without_a_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each check holds two of the two workers: threads that took one each would wait for ever."""
    monkeypatch.delenv("REASONGYM_SANDBOX", raising=False)
    verdicts: list[Verdict] = []
    threads = [threading.Thread(target=lambda: verdicts.append(judged(GOOD, CHECK)), daemon=True) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [verdict.status for verdict in verdicts] == [Status.CORRECT] * 6
    assert SANDBOXES.get(None) is SANDBOXES.get("auto")
    assert code.prepare() is SANDBOXES.get("auto")  # type: ignore[attr-defined]


def test_a_frame_longer_than_the_limit_is_the_candidates_failure() -> None:
    source = "import os, struct\nos.write(3, struct.pack('>I', 2**31))\ndef add(a, b): return 0"
    assert judged(source, ADD).status is Status.WRONG


def test_all_that_count_passed_is_not_all() -> None:
    trials = [Trial("shown", "failed"), Trial("open"), Trial("open")]
    assert judge(trials, 3, partial=True).share == pytest.approx(2 / 3)
    assert judge(trials, 3, partial=False).share == 0.0
    assert judge([Trial("shown"), Trial("open"), Trial("open", "failed")], 3, partial=True).share == 0.5


def test_limits_of_a_job_are_those_of_the_reference() -> None:
    limits = read_limits({"cpu_s": 2, "memory_mb": 64})
    assert limits.of_all() == Limits(cpu_s=6, wall_s=60, memory_mb=64)
    assert limits.of_one() == Limits(cpu_s=2, wall_s=8, memory_mb=64, output_kb=4096)
    assert limits.of_one(left_cpu_s=0.5, left_wall_s=1.5) == Limits(cpu_s=0.5, wall_s=1.5, memory_mb=64, output_kb=4096)


def test_a_reference_may_be_json_text() -> None:
    assert judged("def add(a, b): return a + b", json.dumps(ADD)).status is Status.CORRECT
