"""What a candidate does to be judged right, or not at all; and what honest ones do that must not count against them."""

from __future__ import annotations

import pytest

from reasongym.config.sections import ScoringConfig
from reasongym.verifiers import Status, Verdict
from reasongym.verifiers.code import code
from reasongym.verifiers.code.limits import read_limits

ADD = {"entry_point": "add", "tests": [{"args": [1, 2], "expected": 3}]}
ECHO = {"stdio": [{"input": "1\n", "output": "2\n"}, {"input": "41\n", "output": "42"}], "limits": {"cpu_s": 1}}


def judged(source: str, reference: object) -> Verdict:
    return code(f"```python\n{source}\n```", reference, example={})


SWALLOWING = {
    "all(map)": "assert all(map(lambda x: candidate(x) == x + 1, [1, 2]))",
    "zip(map)": "for got, wanted in zip(map(candidate, [1, 2]), [2, 3]): assert got == wanted",
    "filter": "assert not [x for x in filter(lambda x: candidate(x) != x + 1, range(3))]",
    "set(map)": "assert set(map(candidate, [1, 2])) <= {2, 3}",
    "next with a default": "assert next(map(candidate, [1]), 2) == 2",
    "iter with a sentinel": "assert not list(iter(lambda: candidate(1), 2))",
    "items by index": """class Items:
        def __getitem__(self, at): return candidate(at)
    for at, item in zip(range(3), Items()): assert item == at + 1""",
    "hasattr": """class Lazy:
        value = property(lambda self: candidate(1))
    assert getattr(Lazy(), "value", 2) == 2""",
    "a thread": """import threading
    wrong = []
    run = threading.Thread(target=lambda: candidate(1) == 2 or wrong.append(1))
    run.start(), run.join()
    assert not wrong""",
}


def reference_of(body: str, *, apart: bool) -> dict[str, object]:
    """The body of a check, or the same as a statement apart."""
    if apart:
        return {"entry_point": "f", "tests": [body.replace("\n    ", "\n").replace("candidate", "f"), "assert True"]}
    return {"entry_point": "f", "check": f"def check(candidate):\n    {body}\n"}


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("raised", ["StopIteration", "StopAsyncIteration", "GeneratorExit", "IndexError", "KeyError",
                                    "AttributeError", "type('Own', (StopIteration,), {})"])
def test_an_exception_that_no_test_expects_is_swallowed_by_none(raised: str, apart: bool) -> None:
    """`all(map(...))` ends, and holds, at the first StopIteration; an index that fails ends an iteration."""
    for name, body in SWALLOWING.items():
        if raised in ("StopIteration", "GeneratorExit"):  # these not even where other tests expect exceptions
            body = f"import contextlib\n    with contextlib.nullcontext(): pass\n    {body}"
        verdict = judged(f"def f(x):\n    raise {raised}", reference_of(body, apart=apart))
        assert verdict.status is Status.WRONG, (name, verdict.reason)


@pytest.mark.parametrize("name", SWALLOWING)
def test_what_swallows_exceptions_takes_right_answers(name: str) -> None:
    for apart in (False, True):
        assert judged("def f(x): return x + 1", reference_of(SWALLOWING[name], apart=apart)).status is Status.CORRECT


def test_an_exception_that_the_tests_run_into_while_they_are_loaded_is_not_swallowed() -> None:
    reference = {"entry_point": "f", "check": "got = list(map(f, [1, 2]))\ndef check(candidate):\n    assert all(got)"}
    assert judged("def f(x): raise StopIteration", reference).status is Status.WRONG
    assert judged("def f(x): return x", reference).status is Status.CORRECT


PROVOKED = {
    "no value bound": ("raise ValueError", "try: got = candidate(1)\n    except ValueError: pass\n    assert got == 2"),
    "an empty loop": ("return []", "for item in candidate(1): last = item\n    assert last == 2"),
    "text that is no expression": ("return '1+'", "assert eval(candidate(1)) == 2"),
    "a name": ("return 'undefined'", "assert eval(candidate(1)) == 2"),
    "no module": ("return 'none_such'", "import importlib\n    importlib.import_module(candidate(1))"),
    "an end": ("return '__import__(\"os\")._exit(0)'", "assert eval(candidate(1)) == 2"),
    "noise": ("return '__import__(\"os\").write(3, b\"1234\")'", "eval(candidate(1))"),
    "another exception": ("raise KeyError", "try: candidate(1)\n    except KeyError as e: raise ImportError from e"),
    "what does not travel": ("return (x for x in ())", "assert candidate(candidate(1)) == 2"),
    "what is too large": ("return 'x' * 2**21", "assert candidate([candidate(1)] * 3) == 2"),
}


@pytest.mark.parametrize("name", PROVOKED)
def test_who_makes_the_tests_fail_does_not_leave_its_group(name: str) -> None:
    body, check = PROVOKED[name]
    verdict = judged(f"def f(x): {body}", reference_of(check, apart=False))
    assert (verdict.status, verdict.score) == (Status.WRONG, 0.0), verdict.reason


def test_who_makes_one_test_fail_keeps_what_the_others_earn() -> None:
    tests = ["assert f(1) == 1", "assert eval(f('1+')) == 1", "assert f(3) == 3"]
    reference = {"entry_point": "f", "tests": tests, "partial": True}
    assert judged("def f(x): return x", reference).score == pytest.approx(2 / 3)


def test_an_exception_is_of_the_built_in_class_that_its_own_is_of() -> None:
    source = "class Bad(ValueError): pass\ndef f(x): raise Bad('no')"
    check = ("def check(candidate):\n    try: candidate(1)\n    except ValueError as e:\n"
             "        assert (type(e).__name__, str(e)) == ('Bad', 'no')\n    else: assert False")
    assert judged(source, {"entry_point": "f", "check": check}).status is Status.CORRECT
    assert judged(source.replace("ValueError", "KeyError"), {"entry_point": "f", "check": check}).score == 0.0


@pytest.mark.parametrize("body", [
    "print(int(input()) + 1)\nexit()", "print(int(input()) + 1)\nquit(0)", "help\nprint(int(input()) + 1)",
    "print(int(open('/dev/stdin').read()) + 1)",
    "with open('/dev/stdout', 'w') as out: print(int(input()) + 1, file=out)\nopen('/dev/stderr', 'w').write('x')",
    "import sys\nsys.stderr.write('x' * 2**23)\nprint(int(input()) + 1)",
    "import shutil\nopen('a', 'w').write('1')\nshutil.copy2('a', '/tmp/b')\nshutil.move('/tmp/b', 'c')\n"
    "print(int(input()) + 1)",
    "import resource as r\nr.setrlimit(r.RLIMIT_STACK, (r.RLIM_INFINITY, r.RLIM_INFINITY))\nprint(int(input()) + 1)",
    "import os\nfile = open('a', 'w')\nos.fsync(file.fileno())\nprint(int(input()) + 1)",
])
def test_what_honest_programs_do_is_there(body: str) -> None:
    verdict = judged(body, ECHO)
    assert verdict.status is Status.CORRECT, verdict.reason


def test_a_long_output_is_read_to_its_end() -> None:
    reference = {"stdio": [{"output": "\n".join(map(str, range(250_000)))}]}
    assert judged("for n in range(250_000): print(n)", reference).status is Status.CORRECT
    assert judged("for n in range(250_000): print(n)\nprint('x' * 2**22)", reference).status is Status.WRONG


def test_a_function_may_stand_before_an_exit() -> None:
    assert judged("def add(a, b): return a + b\nprint(add(1, 2))\nexit()", ADD).status is Status.CORRECT
    assert judged("exit()\ndef add(a, b): return a + b", ADD).status is Status.WRONG
    assert judged("def add(a, b): return a + b\nexit(1)", ADD).status is Status.WRONG


def test_limits_of_a_part_of_a_second_hold() -> None:
    busy = "import time\nwhile time.process_time() < 0.4: pass"
    reference = {"entry_point": "f", "tests": [{"expected": 1}], "limits": {"cpu_s": 0.2, "total_cpu_s": 2}}
    assert judged("def f():\n    import time\n    end = time.process_time() + 0.4\n"
                  "    while time.process_time() < end: pass\n    return 1", reference).status is Status.TIMEOUT
    stdio = {"stdio": [{"output": "1"}], "limits": {"cpu_s": 0.2}}
    assert judged(f"{busy}\nprint(1)", stdio).status is Status.TIMEOUT


def test_what_sleeps_keeps_what_it_had_earned() -> None:
    reference = {"entry_point": "f", "tests": [{"args": [n], "expected": n} for n in (1, 2)], "partial": True,
                 "limits": {"wall_s": 2.5, "total_wall_s": 4.0}}
    assert judged("import time\ndef f(n):\n    time.sleep(100 * (n - 1))\n    return n", reference).score == 0.5
    both = {"stdio": [{"input": "0", "output": ""}, {"input": "9", "output": ""}], "partial": True,
            "limits": reference["limits"]}
    assert judged("import time\ntime.sleep(float(input()))", both).score == 0.5


def test_what_sleeps_by_default_is_stopped_before_the_scoring_pool_would() -> None:
    """Whom the pool stops has no verdict of its own, nothing of what it had earned, and costs a worker."""
    usual = read_limits({})
    assert usual.wall_s <= usual.total_wall_s <= 0.8 * ScoringConfig().timeout_s
    assert usual.total_cpu_s < usual.total_wall_s
    assert read_limits({"wall_s": 30}).total_wall_s == 30
