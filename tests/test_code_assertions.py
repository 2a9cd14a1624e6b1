"""Assertions of a data set: what makes them an error, what cannot, and what travels between them and the candidate."""

from __future__ import annotations

import pytest

from reasongym.verifiers import Status, Verdict
from reasongym.verifiers.code import code

ASSERT = "assert f(1) == 2"
RIGHT, WRONG = "def f(x): return 2 * x", "def f(x): return 7"


def judged(source: str, *tests: str, **other: object) -> Verdict:
    reference: dict[str, object] = {"entry_point": "f", **({"tests": list(tests)} if tests else {}), **other}
    return code(f"```python\n{source}\n```", reference, example={})


# --- tests that ask nothing are no tests ---

EMPTY: dict[str, dict[str, object]] = {
    "a coroutine": {"check": "async def check(candidate):\n    assert candidate(1) == 2"},
    "a generator": {"check": "def check(candidate):\n    assert candidate(1) == 2\n    yield"},
    "a lambda of a coroutine": {"check": "async def run(c):\n    assert c(1) == 2\ncheck = lambda c: run(c)"},
    "a check without content": {"check": "def check(candidate):\n    pass"},
    "a function that nobody calls": {"check": "def check(candidate):\n    def test(): assert candidate(1) == 2"},
    "no statement": {"tests": [""]},
    "a comment": {"tests": ["# assert f(1) == 2"]},
    "an assignment": {"tests": ["x = 1"]},
    "an assertion of its own": {"tests": ["assert 1 + 1 == 2"]},
    "a function of its own": {"imports": ["def f(x): return 2 * x"], "tests": [ASSERT]},
    "no assert": {"tests": ["f(1) == 2"]},
    "no assert in a check": {"check": "def check(candidate):\n    candidate(1) == 2"},
    "a tuple": {"tests": ['assert (f(1) == 2, "why")']},
}


@pytest.mark.parametrize("name", EMPTY)
def test_tests_that_no_answer_can_fail_pay_for_none(name: str) -> None:
    for partial in (False, True):
        verdict = judged(WRONG, **EMPTY[name], partial=partial)
        assert verdict.status is Status.ERROR, verdict.reason
        assert verdict.reason.startswith("tests: ")


@pytest.mark.parametrize("check", ["async def check(candidate):\n    assert got == 2",
                                   "def check(candidate):\n    assert got == 2\n    yield"])
def test_a_check_that_does_not_run_is_passed_by_none_though_something_was_asked_before(check: str) -> None:
    assert judged(RIGHT, imports=["got = f(1)"], check=check).score == 0.0


def test_what_stands_between_the_assertions_earns_nothing() -> None:
    """Each of them would else be worth a share that every answer gets."""
    tests = ["import math", "data = [1]", "", ASSERT, "import re", "assert f(data[0] + 1) == 4"]
    assert judged(RIGHT, *tests).status is Status.CORRECT
    assert judged(WRONG, *tests, partial=True).status is Status.WRONG
    assert judged("def f(x): return 2", *tests, partial=True).score == 0.5


def test_an_assertion_may_be_of_what_was_answered_before() -> None:
    tests = ["assert got[0] == 2", "assert got[1] == 4"]
    for partial in (False, True):
        other = {"imports": ["got = [f(1), f(2)]"], "partial": partial}
        assert judged(RIGHT, *tests, **other).status is Status.CORRECT
        assert judged(WRONG, *tests, **other).status is Status.WRONG


def test_who_is_asked_by_another_name_cannot_call_the_tests_off() -> None:
    """`ready` is the program's word: an error would let it leave its group when it pleases."""
    test = "if ready(): assert f(1) == 2"
    assert judged(f"def ready(): return True\n{RIGHT}", test).status is Status.CORRECT
    assert judged(f"def ready(): return False\n{WRONG}", test).status is Status.WRONG


# --- no error at will ---

SLEEPS = "import time\ntime.sleep({})\n" + WRONG
BUSY = "import time\nwhile time.process_time() < {}: pass\n" + WRONG
QUICK = {"limits": {"total_wall_s": 2, "wall_s": 2, "cpu_s": 2, "total_cpu_s": 3}}


@pytest.mark.parametrize("source", [SLEEPS.format(1.95), SLEEPS.format(1.5), BUSY.format(1.5)])
def test_who_takes_the_time_of_its_tests_does_not_make_them_look_broken(source: str) -> None:
    """They need 1.8 s before their first call, which alone would be in time."""
    tests = "import time\ntime.sleep(1.8)\ndef check(candidate):\n    assert candidate(1) == 2"
    assert judged(source, check=tests, **QUICK).status is Status.TIMEOUT


@pytest.mark.parametrize("work", ["time.sleep(60)", "while True: pass"])
def test_tests_that_take_too_long_by_themselves_are_still_an_error(work: str) -> None:
    tests = f"import time\n{work}\ndef check(candidate):\n    assert candidate(1) == 2"
    assert judged(WRONG, check=tests, **QUICK).status is Status.ERROR


@pytest.mark.parametrize("size", [2129880, 2129902, 2129920])
def test_an_answer_as_long_as_a_message_does_not_leave_its_group(size: int) -> None:
    """Two of them are given back in one call, which the host writes in a few bytes more than the tests do."""
    verdict = judged(f"def f(s): return 'x' * {size}", "assert f(f('a') + f('b')) == 'ab'")
    assert verdict.status is Status.WRONG, verdict.reason


# --- where an exception is expected ---

ITEMS = """
class Items:
    def __getitem__(self, at):
        if at > 3: raise IndexError
        return f(at)
class Lazy:
    value = property(lambda self: f(1))
"""
OTHER_HANDLERS = {
    "an import": "try:\n    import numpy\nexcept ImportError:\n    numpy = None",
    "another call": "try:\n    f(-1)\nexcept ValueError:\n    pass",
    "a block": "import io\nwith io.StringIO() as file:\n    file.write(str(1))",
}
SWALLOWING = ["for at, item in enumerate(Items()): assert item == 2 * at", "assert getattr(Lazy(), 'value', 2) == 2",
              "try:\n    for at, item in enumerate(Items()): assert item == 2 * at\nexcept ValueError:\n    pass"]


@pytest.mark.parametrize("test", SWALLOWING)
@pytest.mark.parametrize("name", OTHER_HANDLERS)
def test_a_handler_elsewhere_lets_no_exception_be_swallowed(name: str, test: str) -> None:
    error = "AttributeError" if "getattr" in test else "IndexError"
    program = "def f(x):\n    if x < 0: raise ValueError\n    "
    source = f"{OTHER_HANDLERS[name]}\n{test}"
    assert judged(f"{program}raise {error}", source, imports=[ITEMS]).status is Status.WRONG
    assert judged(f"{program}return 2 * x", source, imports=[ITEMS]).status is Status.CORRECT


EXPECTING = {
    "try": "try:\n    f(-1)\n    assert False\nexcept ValueError: pass",
    "a class above": "try:\n    f(-1)\n    assert False\nexcept (KeyError, Exception): pass",
    "a class of the program's": "try:\n    f(-1)\n    assert False\nexcept Own: pass",
    "suppress": "import contextlib\nwith contextlib.suppress(ValueError):\n    f(-1)\n    assert False",
    "a function": "def fails(call):\n    try: call()\n    except ValueError: return True\nassert fails(lambda: f(-1))",
    "assertRaises": "import unittest\ncase = unittest.TestCase()\ncase.assertRaises(ValueError, f, -1)",
    "a block of assertRaises": "import unittest\nwith unittest.TestCase().assertRaises(ValueError):\n    f(-1)",
}


@pytest.mark.parametrize("name", EXPECTING)
def test_an_exception_that_is_expected_where_it_is_raised_holds(name: str) -> None:
    source = "class Own(ValueError): pass\ndef f(x):\n    if x < 0: raise {}\n    return 2 * x"
    assert judged(source.format("Own"), EXPECTING[name]).status is Status.CORRECT
    assert judged(source.format("OSError"), EXPECTING[name]).score == float(name == "a class above")


@pytest.mark.parametrize(("raised", "expected"), [
    ("KeyError('a')", "(KeyError, ('a',), \"'a'\")"), ("ValueError(3, 4)", "(ValueError, (3, 4), '(3, 4)')"),
    ("ValueError", "(ValueError, (), '')"), ("OSError(2, 'x')", "(FileNotFoundError, (2, 'x'), '[Errno 2] x')"),
    ("UnicodeDecodeError('ascii', b'x', 0, 1, 'no')", "(UnicodeDecodeError, ('ascii', b'x', 0, 1, 'no'), "
     "\"'ascii' codec can't decode byte 0x78 in position 0: no\")"),
    ("ValueError(object)", "(ValueError, (\"<class 'object'>\",), \"<class 'object'>\")"),
    ("KeyError(object)", "(KeyError, (\"<class 'object'>\",), '\"<class \\'object\\'>\"')"),
    ("ValueError('x' * 10**6)", "(ValueError, ('x' * 200,), 'x' * 200)"),
])
def test_an_exception_arrives_with_its_arguments(raised: str, expected: str) -> None:
    test = f"try:\n    f(1)\n    assert False\nexcept Exception as e: assert (type(e), e.args, str(e)) == {expected}"
    verdict = judged(f"def f(x): raise {raised}", test)
    assert verdict.status is Status.CORRECT, verdict.reason


def test_an_exception_with_a_text_of_its_own_keeps_it() -> None:
    source = "class Own(Exception):\n    def __str__(self): return 'no'\ndef f(x): raise Own(3)"
    test = "try:\n    f(1)\n    assert False\nexcept Exception as e: assert str(e) == 'no'"
    assert judged(source, test).status is Status.CORRECT


# --- types ---

IMPORT = "from collections import *"


@pytest.mark.parametrize(("source", "test"), [
    ("def f(d): return d.popleft()", "assert f(deque([1, 2])) == 1"),
    ("def f(d): d['z'].append(1); return d", "assert f(defaultdict(list)) == {'z': [1]}"),
    ("def f(d): return d['z'], d.most_common(1)", "assert f(Counter('aab')) == (0, [('a', 2)])"),
    ("def f(d): d.move_to_end('a'); return list(d)", "assert f(OrderedDict(a=1, b=2)) == ['b', 'a']"),
    ("def f(x): return Counter(x)", "assert f('aab')['z'] == 0 and f('aab') == Counter('aab')"),
    ("def f(x): return deque(x, 3)", "assert f([1, 2]) == deque([1, 2]) and f([1]).maxlen == 3"),
    ("def f(x): return defaultdict(int, x)", "assert f({})['z'] == 0"),
    ("def f(x): return defaultdict(lambda: 0, x)", "assert f({1: 2}) == {1: 2}"),
])
def test_containers_of_collections_keep_their_type(source: str, test: str) -> None:
    assert judged(f"{IMPORT}\n{source}", test, imports=[IMPORT]).status is Status.CORRECT


def test_an_ordered_dict_in_another_order_is_another() -> None:
    test = "assert f(1) == OrderedDict([('a', 1), ('b', 2)])"
    source = IMPORT + "\ndef f(x): return OrderedDict([('b', 2), ('a', 1)])"
    assert judged(source, test, imports=[IMPORT]).status is Status.WRONG


def test_an_argument_that_would_change_its_type_is_an_error() -> None:
    verdict = judged(RIGHT, f"{IMPORT}\nassert f(defaultdict(lambda: 1)) == 2")
    assert (verdict.status, "does not travel" in verdict.reason) == (Status.ERROR, True), verdict.reason
    assert judged(RIGHT, "assert f(bytearray(b'x')) == 2").status is Status.ERROR


# --- the program that is loaded ---


@pytest.mark.parametrize("after", [
    "from solution import f\nassert f(1) == 2", "import unittest\nfrom solution import f\nclass T: pass",
    "from elsewhere import f", "import f", "print(f(1))"])
def test_a_block_that_only_imports_the_name_does_not_define_it(after: str) -> None:
    response = f"```python\n{RIGHT}\n```\nTests:\n```python\n{after}\n```"
    reference = {"entry_point": "f", "tests": [ASSERT]}
    assert code(response, reference, example={}).status is Status.CORRECT
    assert code(response.replace("2 * x", "x"), reference, example={}).status is Status.WRONG


def test_a_seed_at_the_top_holds_in_every_call() -> None:
    """A fork would begin `random` anew."""
    source = "import random\nrandom.seed(7)\ndef f(x): return random.random()"
    test = "import random\nrandom.seed(7)\nassert f(1) == random.random() == f(2)"
    assert judged(source, test).status is Status.CORRECT
    assert judged("import random\ndef f(x): return random.random()", "assert f(1) != f(1)").status is Status.CORRECT
