"""The document of a response: which one counts, how strictly it is read, and what it scores."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasongym.scoring import ScoringPool
from reasongym.tasks import Example, RewardPart
from reasongym.verifiers import Status, Verdict
from reasongym.verifiers.json_schema import json_schema
from reasongym.verifiers.json_schema.agreement import agreement
from reasongym.verifiers.json_schema.formats import FORMATS
from reasongym.verifiers.json_schema.patterns import PatternProblem, compiled, is_ecma_pattern
from reasongym.verifiers.json_schema.strict_json import JsonProblem, canonical, parse
from reasongym.verifiers.json_schema.validation import SchemaProblem, prepared

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"},
                                           "c": {"type": "array", "items": {"type": "integer"}}}}
GOLD = {"a": 1, "b": "x", "c": [1, 2]}
RIGHT = json.dumps(GOLD)
OTHER = '{"a": 2, "b": "y", "c": []}'


def check(response: str, schema: object = SCHEMA, **value: object) -> Verdict:
    return json_schema(response, {"schema": schema, **value}, example={})


def gold(response: str) -> Verdict:
    return check(response, value=GOLD)


def fenced(document: str, label: str = "json") -> str:
    return f"```{label}\n{document}\n```"


@pytest.mark.parametrize("response", [
    RIGHT, f"\n {RIGHT} \n", "\ufeff" + RIGHT, json.dumps(GOLD, indent=2), fenced(RIGHT), fenced(RIGHT, "JSON"),
    fenced(RIGHT, ""), fenced(RIGHT, "text"), fenced("\ufeff" + RIGHT), f"Here it is:\n{fenced(RIGHT)}\nAnything else?",
    f"```json {RIGHT} ```", f"Result: ```json\n{RIGHT}\n```", f"- ```json\n  {RIGHT}\n  ```", f"~~~json\n{RIGHT}\n~~~",
    f"````json\n{RIGHT}\n````", f"```json\n{RIGHT}", f"<think>{fenced(OTHER)}</think>{RIGHT}",
    f"<think>{OTHER}</think>\n{fenced(RIGHT)}", f"{OTHER}\n</think>{RIGHT}",
    f"{RIGHT}<|im_end|>\n<|im_start|>user\n{OTHER}", f"{RIGHT}</s>\n{OTHER}", f"{RIGHT} </s>",
    f"{fenced(OTHER)}\nThat misses a part, so:\n{fenced(RIGHT)}", f"First {OTHER} and then, corrected: {RIGHT}",
    f"{fenced('x = {1: 2}', 'python')}\n{RIGHT}", f"{RIGHT}\n{RIGHT}", f"{fenced(RIGHT)}\n{fenced(RIGHT)}",
    f"As in [1], the answer is {RIGHT} [2].", f"Set {{x | x > 0}} is not used. {RIGHT}",
    f"{{\"a\": 1, oops}} no: {RIGHT}",
    f"The answer: {RIGHT}.", f"<answer>{RIGHT}</answer>", f"\\boxed{{{RIGHT}}}",
    f"{fenced(RIGHT)}\nI left {{}} out of it.",
    '{"a": 1.0, "b": "\\u0078", "c": [1e0, 2]}', '{"c": [1, 2], "b": "x", "a": 1}'])
def test_the_right_document_is_not_missed(response: str) -> None:
    assert gold(response).status is Status.CORRECT


@pytest.mark.parametrize("response", [
    "", " \n", "no idea", "<think>" + RIGHT, RIGHT + "</think>", "```json\n```", fenced(""), fenced("a: 1"),
    fenced(RIGHT + RIGHT), fenced(RIGHT[:-1]), f"{fenced(RIGHT)}\nNo:\n{fenced('broken')}", RIGHT[:-1],
    f"{RIGHT} then {OTHER[:-1]}", '{"z": ' + RIGHT, '{"z": ' + RIGHT + ", oops}", "[" + RIGHT + ", oops]",
    "{'a': 1}", '{"a": 1,}', '{"a": 1 /* one */}', '{"a": 01}', '{"a": +1}', '{"a": .5}', '{"a": "\n"}',
    '{"a": 1, "a": 1}', '{"a": 1, "\\u0061": 1}', '{"a": {"b": 1, "b": 2}}',
    '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e400}', '{"a": 1e-400}', '{"a": ' + "9" * 1001 + "}",
    "[" * 900 + "]" * 900, '{"a":' * 900 + "1" + "}" * 900, "[" * 10**6,
    '"' + "a" * 10**6 + '"', '{"a": 1} ' * 2000, "`" * 10**5, "\ud800", "\0"])
def test_what_is_no_strict_json_is_unparsable(response: str) -> None:
    verdict = gold(response)
    assert (verdict.status, verdict.score) == (Status.UNPARSABLE, 0.0), verdict


@pytest.mark.parametrize("response", [
    "{%s, \"b\": 2}", "{b: %s}", "{'b': %s}", "[,%s]", "{// c\n\"y\":%s}", "{/* c */ \"y\": %s}", "{%s}", "[1 %s]",
    "[true %s]", "{x %s}", "[x, %s]", "{b: %s", "{a %s", "[-Infinity, %s]", "{1: %s}", "%s {a:2}", "%s {a:",
    "%s {'a':2}",
    "%s [NaN]", "%s\n['x']", "function f() { return %s; }"])
def test_what_stands_within_or_before_broken_brackets_never_counts(response: str) -> None:
    assert gold(response % RIGHT).score < 0.5


@pytest.mark.parametrize("response", [
    "x_{1} = 2, so %s", "Set $\\{1,2\\}$: %s", "\\text{Answer: %s}", "{b: 1} is wrong, here: %s", "[Note] %s", "{x} %s",
    "fine [ok %s"])
def test_brackets_of_prose_beside_a_document_do_not_hide_it(response: str) -> None:
    assert gold(response % RIGHT).status is Status.CORRECT


@pytest.mark.parametrize("text", ["</think>", "<think>", "a </think> b <think>"])
def test_a_tag_of_reasoning_within_a_string_is_text(text: str) -> None:
    document, reference = json.dumps({"t": text}), {"t": text}
    for response in (document, fenced(document), f"<think>hm</think>{document}", f"{OTHER}\n</think>{document}"):
        assert check(response, {"type": "object"}, value=reference).status is Status.CORRECT, response
    assert check(f"<think>{document}", {"type": "object"}, value=reference).status is Status.UNPARSABLE
    assert check(f"{document}</think>", {"type": "object"}, value=reference).status is Status.UNPARSABLE


@pytest.mark.parametrize("response", [
    f"{RIGHT} or {OTHER}", f"{OTHER} or {RIGHT}", f"{OTHER}\n{RIGHT}", f"{OTHER}, {RIGHT}", f"{OTHER}\n\nor\n\n{RIGHT}",
    f"{fenced(OTHER)}\n{fenced(RIGHT)}", f"{fenced(RIGHT)}\nor\n{fenced(OTHER)}", f"{RIGHT} is mine, {OTHER} is yours.",
    f"{OTHER} might be, but so might {RIGHT}, I think.", f"{fenced(RIGHT)}\nOr rather {OTHER}",
    f"{fenced(RIGHT)}\n{fenced(OTHER, '')}", f"#### {OTHER}\n#### {RIGHT}", f"> {OTHER}\n> {RIGHT}",
    "\n".join(json.dumps({"a": n}) for n in range(500))])
def test_offering_several_documents_gains_nothing(response: str) -> None:
    verdict = gold(response)
    assert (verdict.status, verdict.score) == (Status.WRONG, 0.0)
    assert "several" in verdict.reason


@pytest.mark.parametrize("wrong", ['{"a": 2}', fenced('{"a": 2}')])
def test_an_invented_next_turn_does_not_answer_for_this_one(wrong: str) -> None:
    assert gold(f"{wrong}\n\nQuestion: What is right?\nAnswer: {RIGHT}").score < 0.5
    assert gold(f"{RIGHT}\n\nQuestion: And now?\nAnswer: {wrong}").score == 1.0
    assert gold(f"Question: What is right?\nAnswer: {RIGHT}").score == 1.0  # restated before any document
    assert gold(json.dumps(GOLD).replace("x", "Question: y")).score < 1.0


def test_a_fence_within_a_string_neither_opens_nor_closes_one() -> None:
    text = "run\n```json\n{}\n```\nor ```sh"
    schema = {"type": "object"}
    for response in (json.dumps({"t": text}), fenced(json.dumps({"t": text}, indent=2))):
        assert check(response, schema, value={"t": text}).status is Status.CORRECT


def test_a_string_may_hold_what_ends_a_turn_elsewhere() -> None:
    text = "<s>no</s> yes <|im_end|>!"
    assert check(json.dumps({"t": text}), {"type": "object"}, value={"t": text}).status is Status.CORRECT


def test_a_scalar_counts_only_as_the_whole_text() -> None:
    assert check("42", {"type": "integer"}, value=42).score == 1
    assert check(fenced("42"), {"type": "integer"}, value=42).score == 1
    assert check('"42"', {"type": "string"}).score == 1
    assert check("It is 42", {"type": "integer"}, value=42).status is Status.UNPARSABLE
    assert check("null", True, value=None).status is Status.CORRECT
    assert check("0", True, value=None).score < 1  # a null gold value is one


# Neither timed, for machines differ, nor random, for a test that fails sometimes tells nothing.
steadily = settings(deadline=None, derandomize=True, database=None)

LADDER = [("no", 0.0), ("[]", 0.05), ("1", 0.05), ('{"a": "1"}', 0.1), ("{}", 0.1), ('{"c": []}', 0.1), ('{"z": 1}',
    0.1),
          ('{"a": 1}', 0.2 + 0.7 * 0.4), ('{"a": 1, "b": "x"}', 0.2 + 0.7 * 2 * 2 / 6),
          ('{"a": 1, "b": "x", "c": [1, 2], "d": 0}', 0.2 + 0.7 * 2 * 4 / 9),
          ('{"a": 1.0, "b": "x", "c": [1, 2]}', 1.0)]
"""GOLD has 4 leaves. {"a": 1} shares 1 of its 1: F1 = 2 x 1 / (1 + 4). With "d" 4 of 5 are shared: 2 x 4 / (5 + 4)."""


@pytest.mark.parametrize(("response", "score"), LADDER)
def test_each_rung_of_the_ladder(response: str, score: float) -> None:
    verdict = gold(response)
    assert verdict.score == pytest.approx(score)
    expected = {0.0: Status.UNPARSABLE, 1.0: Status.CORRECT}.get(score, Status.PARTIAL)
    assert verdict.status is expected


def test_empty_and_padded_documents_gain_nothing() -> None:
    schema = {"properties": {"a": {}, "b": {}}}
    wanted = {"a": 1, "b": [2, 3]}
    floor = check('{"a": "bad type"', schema, value=wanted).score
    assert floor == 0
    empty = [check(text, schema, value=wanted).score for text in ("{}", '{"a": null}', '{"b": []}', '{"b": {}}')]
    assert empty == [0.1] * 4
    padded = [check(json.dumps(wanted | {f"p{i}": i for i in range(n)}), schema, value=wanted).score for n in range(20)]
    assert padded == sorted(padded, reverse=True)
    assert padded[0] == 1.0
    assert len(set(padded)) == 20


def test_no_invalid_document_scores_above_a_valid_one() -> None:
    invalid = gold('{"a": 1, "b": "x", "c": [1, "2"]}')
    assert invalid.score <= gold("{}").score < gold('{"a": 1}').score
    assert "/c/1" in invalid.reason


def test_without_a_gold_value_valid_is_right() -> None:
    assert check("{}").status is Status.CORRECT
    assert check('{"a": "x"}').score == 0.1


@steadily
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
                    | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12))
def test_a_value_agrees_fully_with_itself_alone(value: object) -> None:
    assert agreement(value, value) == 1.0
    assert agreement([value], value) < 1
    assert canonical(parse(json.dumps(value))) == canonical(value)


@pytest.mark.parametrize(("one", "other", "equal"), [
    ("1", "1.0", True), ("1", "true", False), ("0", "false", False), ('"1"', "1", False), ("[1]", "[true]", False),
    ('{"a": 1, "b": 2}', '{"b": 2.0, "a": 1e0}', True), ("[]", "{}", False), ("null", "false", False), ("0", "-0.0",
    True),
    ("9007199254740993", "9007199254740992", False), ('["a"]', '{"0": "a"}', False)])
def test_equality_is_that_of_json_schema(one: str, other: str, equal: bool) -> None:
    assert (canonical(parse(one)) == canonical(parse(other))) == equal
    assert (agreement(parse(one), parse(other)) == 1) == equal
    assert (prepared({"const": parse(one)}).problem(parse(other)) is None) == equal
    assert (prepared({"enum": [parse(one)]}).problem(parse(other)) is None) == equal
    assert (prepared({"uniqueItems": True}).problem([parse(one), parse(other)]) is None) != equal


@pytest.mark.parametrize(("reference", "says"), [
    (None, "the reference is not"), ("x", "the reference is not"), ({"value": 1}, "the reference is not"),
    ({"schema": 5}, "neither an object nor a boolean"), ({"schema": {"type": "text"}}, "at /type"),
    ({"schema": {"properties": {"a": {"minimum": "5"}}}}, "at /properties/a/minimum"),
    ({"schema": {"items": [{}]}}, "at /items"), ({"schema": {"$schema": "http://x.test/s"}}, "unknown"),
    ({"schema": {"$schema": 7}}, r"at /\$schema"), ({"schema": {"multipleOf": 0}}, "at /multipleOf"),
    ({"schema": {"$ref": "#"}}, "without end"), ({"schema": {"anyOf": [{"$ref": "#"}, True]}}, "without end"),
    ({"schema": {"properties": {"zz": {"$ref": "#/properties/zz"}}}}, "without end"),
    ({"schema": {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}}}, "without end"),
    ({"schema": {"$dynamicAnchor": "a", "$dynamicRef": "#a"}}, "itself without end"),
    ({"schema": {"properties": {"zz": {"$ref": "#/nowhere"}}}}, "leads to nothing"),
    ({"schema": {"properties": {"zz": {"$ref": "file:///etc/hostname"}}}}, "nothing is fetched"),
    ({"schema": {"$ref": "http://127.0.0.1/s"}}, "nothing is fetched"), ({"schema": {"$ref": "other.json"}},
    "nothing is"),
    ({"schema": {"$ref": "http://[x"}}, "reference"),
    ({"schema": {"properties": {"zz": {"pattern": "("}}}}, "/zz/pattern"),
    ({"schema": {"patternProperties": {"(?P<a>b)": {}}}}, "regex"),
    ({"schema": {"properties": {"zz": {"pattern": "\\p{Script=Greek}"}}}}, "cannot be used"),
    ({"schema": {"enum": [float("nan")]}}, "not JSON"), ({"schema": {"enum": [10**1001]}}, "1002 digits"),
    ({"schema": {"type": "integer"}, "value": "1"}, "gold value"), ({"schema": True, "value": {1, 2}}, "gold value"),
    ({"schema": False, "value": 1}, "gold value")])
def test_an_unusable_reference_is_an_error_whatever_the_response(reference: object, says: str) -> None:
    for response in (RIGHT, '{"b": "x"}', "{}"):
        verdict = json_schema(response, reference, example={})
        assert verdict.status is Status.ERROR
        assert re.search(says, verdict.reason)


def test_a_deep_schema_is_an_error_not_a_crash() -> None:
    deep: object = True
    for _ in range(900):
        deep = {"properties": {"a": deep}}
    assert check("{}", deep).status is Status.ERROR


def test_a_recursive_schema_takes_a_document_as_deep_as_is_read() -> None:
    schema = {"$ref": "#/$defs/n", "$defs": {"n": {"allOf": [{"type": "array", "items": {"$ref": "#/$defs/n"}}]}}}
    assert check("[" * 64 + "]" * 64, schema).status is Status.CORRECT
    assert check("[" * 65 + "]" * 65, schema).status is Status.UNPARSABLE


def test_the_draft_is_that_of_the_schema() -> None:
    """`items` as a list is a tuple up to 2019-09 and an error since; a sibling of $ref counts since 2019-09."""
    seven, newest = "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"
    assert check("[1, 2]", {"$schema": seven, "items": [{"type": "integer"}]}).status is Status.CORRECT
    assert check("[1, 2]", {"$schema": newest, "items": [{"type": "integer"}]}).status is Status.ERROR
    beside = {"$defs": {"a": {}}, "$ref": "#/$defs/a", "minimum": 5}
    assert check("1", {"$schema": seven, **beside}).status is Status.CORRECT
    assert check("1", {"$schema": newest, **beside}).score == 0.1


def test_a_reference_to_a_drafts_metaschema_is_answered() -> None:
    schema = {"$ref": "http://json-schema.org/draft-07/schema#"}
    assert check('{"type": "object"}', schema).status is Status.CORRECT
    assert check('{"type": "text"}', schema).score == 0.1


@pytest.mark.parametrize(("number", "divisor", "valid"), [
    ("0.3", 0.1, True), ("0.35", 0.1, False), ("19.99", 0.01, True), ("1e308", 0.5, True), ("1e308", 0.123456789,
    False),
    ("9" * 400, 0.5, True), ("9" * 400 + "1", 2, False), ("1e-7", 1e-8, True)])
def test_multiples_are_exact_as_written(number: str, divisor: float, valid: bool) -> None:
    assert (check(number, {"multipleOf": divisor}).score == 1) == valid


@pytest.mark.parametrize(("name", "right", "wrong"), [
    ("email", ["a@b.test", "a+b@localhost", '"a b"@c.test', "a@[127.0.0.1]"],
     ["@", "a@", "@b", "a@b@c", "a b@c.test", ".a@b.test", "a@b.test\n", "a@-b.test", "a@b..test"]),
    ("date", ["2024-02-29", "0001-01-01"], ["2023-02-29", "2024-2-9", "2024-13-01", "20240101", "\uff12024-01-01",
    "2024-01-01\n"]),
    ("time", ["08:30:00Z", "08:30:00.5+01:00", "23:59:60Z"], ["08:30:00", "24:00:00Z", "08:30Z", "12:00:60Z",
    "08:30:00z "]),
    ("date-time", ["2024-02-29T08:30:00Z"], ["2024-02-30T08:30:00Z", "2024-02-29 08:30:00Z", "2024-02-29T08:30:00"]),
    ("duration", ["P1D", "PT1H", "P3W", "P1Y2M3DT4H5M6S"], ["P", "PT", "1D", "P1DT", "P1D1Y", "P1W1D", "PT1D"]),
    ("hostname", ["a", "a-b.test", "xn--nxasmq6b"], ["", "-a", "a.", "a..b", "a_b", "a" * 64, "a\n", "xn--x"]),
    ("idn-hostname", ["straße.test", "例え"], ["", "a..b", "-a", "a\u3002", "\u302e"]),
    ("ipv4", ["127.0.0.1"], ["1.2.3", "1.2.3.256", "01.2.3.4", "1.2.3.4\n", "1.2.3.4.", "\uff11.2.3.4"]),
    ("ipv6", ["::1", "::ffff:1.2.3.4"], ["::1%eth0", ":::", "12345::", "1::2::3", "::1\n", "::ffff:1.2.3.04"]),
    ("uri", ["http://a.test/b?c#d", "urn:a:b", "mailto:a@b"], ["/a", "a b:c", "http://a b", "http://[::1",
    "http:// a"]),
    ("uri-reference", ["", "/a", "?b", "#c", "a/b"], ["\\a", "a b", "#a#b", "%zz"]),
    ("iri", ["http://ü.test/é"], ["/é", "http://a b"]), ("iri-reference", ["é"], ["\\", "a b"]),
    ("uri-template", ["/a{?b,c*}", "{+d:3}"], ["{", "}", "{a", "{a b}"]),
    ("uuid", ["2EB8AA08-aa98-11ea-b4aa-73b441d16380"], ["2eb8aa08aa9811eab4aa73b441d16380",
    "{2eb8aa08-aa98-11ea-b4aa"]),
    ("json-pointer", ["", "/a~0b~1"], ["a", "/~2", "/~"]), ("relative-json-pointer", ["0#", "1/a"], ["", "01/a", "-1",
    "/a"]),
    ("regex", ["^a$", "[^]", "(?<n>a)\\k<n>"], ["(", "a**", "a++", "(?P<n>a)", "\\Z", "[b-a]"])])
def test_formats_are_asserted(name: str, right: list[str], wrong: list[str]) -> None:
    assert name in FORMATS
    for text in right:
        assert check(json.dumps(text), {"format": name}).score == 1, text
    for text in [*wrong, *(["\ud800 "] if name != "regex" else [])]:
        assert check(json.dumps(text), {"format": name}).score < 1, text


@pytest.mark.parametrize(("pattern", "found", "not_found"), [
    (r"^\d$", "5", "\u0665"), (r"^\w$", "a", "é"), (r"^\S$", "é", "\ufeff"), ("^a$", "a", "a\n"),
    ("^.$", "😀", "\u2028"), ("a", "xay", "b"), (r"^\u{1F600}$", "😀", "a"),
    (r"^\ud83d\ude00$", "😀", "a"), (r"^[\p{Lu}\d]+$", "ÀB1", "a"),
    (r"^\P{L}$", "1", "é"), (r"^[^\s\d]$", "a", "\u00a0"), (r"^[\w-]$", "-", "."), (r"^(a)\1$", "aa", "a"),
    (r"^[[&&~~||\-\-]$", "&", "a"), (r"^\/\-$", "/-", "/"), (r"^a{2}$", "aa", "a{2}"), ("^{a}$", "{a}", "a"),
    (r"^(?<y>a)-\k<y>$", "a-a", "a-b"), (r"^\cA[\b]\0$", "\x01\x08\0", "cA"), (r"(?<!a)b", "cb", "ab")])
def test_patterns_mean_what_ecma_262_says(pattern: str, found: str, not_found: str) -> None:
    assert compiled(pattern).search(found)
    assert not compiled(pattern).search(not_found)


@pytest.mark.parametrize("pattern", ["(?<=a+)b", "\\p{Script=Latin}", "(?<é>a)", "a{99999}", "a" * 10_001])
def test_a_valid_pattern_that_cannot_be_used_is_refused_and_still_a_regex(pattern: str) -> None:
    with pytest.raises(PatternProblem):
        compiled(pattern)
    assert is_ecma_pattern(pattern)


@steadily
@given(st.text(alphabet="ab\\[](){}*+?|^$.,-19pukxcd<>=!:é", max_size=12))
def test_any_text_is_a_pattern_or_a_problem(text: str) -> None:
    try:
        valid = compiled(text) is not None
    except PatternProblem as problem:
        valid = problem.valid
    assert is_ecma_pattern(text) == valid


@steadily
@given(st.text(alphabet='{}[]",:`\n\\ajson1 -/<think>', max_size=60))
def test_no_response_raises(response: str) -> None:
    assert 0 <= gold(response).score < 1


@pytest.mark.parametrize("response", [
    '\\"' * 400_000, '{"' * 300_000, "[1," * 300_000, '{"a":1}\n' * 100_000, "```json\n" * 100_000,
    (fenced("{}") + "\n") * 60_000,
    "[1 " * 300_000, "{" * 10**6, '{"a":[' * 150_000, "~~~" * 300_000, " " * 10**6 + "{", "\n" * 10**6])
def test_a_long_response_is_looked_at_in_linear_time(response: str) -> None:
    """Quadratic work on these takes minutes; pytest's own limit of time would end it."""
    assert gold(response).score < 1


def test_thousands_of_unique_objects_do_not_take_quadratic_time() -> None:
    items = [{"i": i} for i in range(4000)]
    assert check(json.dumps(items), {"uniqueItems": True}).score == 1
    assert "are equal" in check(json.dumps([*items, {"i": 7.0}]), {"uniqueItems": True}).reason


def test_a_document_of_nearly_the_whole_size_is_read() -> None:
    text = json.dumps(["a" * 990_000])
    assert check(text, {"type": "array"}, value=["a" * 990_000]).score == 1
    with pytest.raises(JsonProblem, match="1000000"):
        parse(text + " " * 20_000)


def test_a_catastrophic_pattern_is_cut_off_by_the_scoring_pool() -> None:
    part = RewardPart(name="correct", verifier="json_schema", weight=1.0)
    row = Example(task="t", split="test", index=0, messages=(), reference={"schema": {"pattern": "^(a+)+$"}})
    with ScoringPool([part], workers=1, timeout_s=4.0, memory_mib=512) as pool:
        verdict = pool.submit(json.dumps("a" * 60 + "!"), row).result(60)["correct"]
        assert verdict.status is Status.TIMEOUT, verdict
        assert pool.submit(json.dumps("aaa"), row).result(60)["correct"].status is Status.CORRECT


def test_only_a_caller_in_python_can_hand_in_other_documents(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"type": "integer"}')
    uri = (tmp_path / "other.json").as_uri()
    with pytest.raises(SchemaProblem, match="nothing is fetched"):
        prepared({"$ref": uri})
    assert prepared({"$ref": uri}, documents={uri: {"type": "integer"}}).problem("x") is not None
    assert check("1", {"$ref": uri}, documents={uri: True}).status is Status.ERROR
