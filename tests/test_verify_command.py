"""`reasongym verify`: the file contract, and that a mistake in the input leaves nothing half done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import Future
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reasongym.cli import verify
from reasongym.cli.verify import command
from reasongym.errors import DataError, ScoringError, UnknownNameError, UserError
from reasongym.tasks import Example
from reasongym.verifiers import Verdict

RULES = '''
import os
from reasongym.verifiers import Verdict

def equal(response, reference, *, example):
    if response == "boom":
        raise ValueError("boom")
    if response == "slow":
        while True:
            pass
    if response == "partly":
        return 0.25
    print("a verifier that prints")
    verdict = Verdict.correct if response == reference else Verdict.wrong
    return verdict(extracted=response, reason=str(sorted(example.items())))
'''


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("verify") / "rules.py"
    file.write_text(RULES)
    return f"{file}:equal"


def run(rules: str, text: str | bytes, folder: Path, *more: str, output: str | None = None) -> Result:
    """Run the command on `text` in a file. The output is `<folder>/out.jsonl` unless told otherwise."""
    source = folder / "cases.jsonl"
    source.write_bytes(text if isinstance(text, bytes) else text.encode())
    return CliRunner().invoke(command, ["--verifier", rules, "--input", str(source),
                                        "--output", output or str(folder / "out.jsonl"), "--workers", "1", *more])


def lines(*rows: dict[str, object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def written(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def test_one_line_out_for_each_line_in_with_the_promised_keys(rules: str, tmp_path: Path) -> None:
    result = run(rules, lines({"id": "a", "response": "1", "reference": "1", "level": 3},
                              {"response": "2", "reference": "1"},
                              {"id": {"k": [1]}, "response": "partly", "reference": None}), tmp_path)
    assert result.exit_code == 0, result.output
    first, second, third = written(tmp_path)
    assert list(first) == ["id", "score", "status", "extracted", "reason", "seconds"]
    assert (first["id"], first["score"], first["status"], first["extracted"]) == ("a", 1.0, "correct", "1")
    assert first["reason"] == "[('level', 3)]", "further fields reach the verifier, the id does not"
    assert (second["id"], second["score"], second["status"]) == (None, 0.0, "wrong")
    assert (third["id"], third["score"], third["status"]) == ({"k": [1]}, 0.25, "partial")


def test_the_order_is_the_inputs_though_a_slow_answer_comes_first(rules: str, tmp_path: Path) -> None:
    # more than the pool's queue holds, so that later ones are known while the first is still being checked
    quick = [{"id": i, "response": f"{i}", "reference": "5"} for i in range(1, 300)]
    cases = lines({"id": 0, "response": "slow", "reference": ""}, *quick)
    result = run(rules, cases, tmp_path, "--workers", "2", "--timeout", "2")
    assert [row["id"] for row in written(tmp_path)] == list(range(300))
    assert [row["extracted"] for row in written(tmp_path)] == [None, *(f"{i}" for i in range(1, 300))]
    assert written(tmp_path)[0]["status"] == "timeout"
    assert "300 answers: correct 1, wrong 298, timeout 1; mean score 0.0033; " in result.stderr  # 1/300


def test_failures_of_the_verifier_are_lines_and_counted_apart(rules: str, tmp_path: Path) -> None:
    result = run(rules, lines({"response": "boom", "reference": ""}, {"response": "1", "reference": "1"}), tmp_path)
    assert result.exit_code == 0
    assert [row["status"] for row in written(tmp_path)] == ["error", "correct"]
    assert "boom" in str(written(tmp_path)[0]["reason"])
    assert "mean score 1.0000 (errors left out)" in result.stderr


GOOD = '{"response": "1", "reference": "1"}\n'


@pytest.mark.parametrize(("bad", "text"), [
    ('{"response": "1", "reference": }', "line 2 of the input is not JSON"),
    ('{"response": "1", "reference": NaN}', "NaN is not a JSON number"),
    ('{"reference": "1"}', "has no 'response'"),
    ('{"response": "1"}', "has no 'reference'"),
    ('{"response": 1, "reference": "1"}', "a response that is not text"),
    ('["response", "reference"]', "is not an object"),
    ('{"response": "1", "reference": ' + "[" * 100_000 + "]" * 100_000 + "}", "line 2 of the input is not JSON"),
    ('{"response": "1", "reference": ' + "[" * 150 + "]" * 150 + "}", "is nested more than 100 deep"),
    ('{"response": "1", "reference": 1, "id": ' + '{"k":' * 101 + "1" + "}" * 102, "is nested more than 100 deep"),
    ('{"response": "1", "reference": 1e400}', "1e400 is too large for a number"),
    ('{"response": "1", "reference": "1", "id": -1e999}', "-1e999 is too large for a number"),
    ('{"response": "1", "reference": ' + "9" * 5000 + "}", "is not JSON: Exceeds the limit"),
    ('{"\\ud800": "1"}', "has no 'response'"),
    (b'{"response": "\xff", "reference": "1"}', "line 2 of the input is not JSON"),
    (b"\x00", "line 2 of the input is not JSON"),
    ('{"response": "1", "response": "2", "reference": "2"}', "the key 'response' stands twice"),
])
def test_a_bad_line_is_named_and_the_old_output_stays(rules: str, tmp_path: Path, bad: str | bytes, text: str) -> None:
    (tmp_path / "out.jsonl").write_text("old")
    bad_bytes = bad if isinstance(bad, bytes) else bad.encode()
    result = run(rules, GOOD.encode() + bad_bytes + b"\n" + GOOD.encode(), tmp_path)
    assert isinstance(result.exception, DataError)
    assert result.exception.exit_status == 2
    assert "line 2 of the input" in str(result.exception)
    assert text in str(result.exception)
    assert (tmp_path / "out.jsonl").read_text() == "old"


def test_a_failure_half_way_leaves_the_old_output(rules: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("reasongym.cli.verify._line", fail)
    (tmp_path / "out.jsonl").write_text("old")
    assert run(rules, GOOD, tmp_path).exit_code != 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cases.jsonl", "out.jsonl"]
    assert (tmp_path / "out.jsonl").read_text() == "old"


def test_unicode_line_separators_do_not_split_a_line(rules: str, tmp_path: Path) -> None:
    row = '{"response": "a\u2028b\u0085c", "reference": "a\u2028b\u0085c"}'
    run(rules, f"\ufeff{row}\r\n\n{row}", tmp_path)
    assert [row["status"] for row in written(tmp_path)] == ["correct", "correct"]


def test_lone_surrogates_come_through(rules: str, tmp_path: Path) -> None:
    run(rules, r'{"response": "\ud800", "reference": "\ud800"}', tmp_path)
    assert written(tmp_path)[0]["extracted"] == "\ud800"


def test_an_empty_input_gives_an_empty_output(rules: str, tmp_path: Path) -> None:
    result = run(rules, "", tmp_path)
    assert result.exit_code == 0
    assert written(tmp_path) == []
    assert "0 answers: none" in result.stderr


def test_a_link_or_device_as_output_stays_what_it_is(rules: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "out.jsonl")
    assert run(rules, GOOD, tmp_path, output=str(tmp_path / "link")).exit_code == 0
    assert (tmp_path / "link").is_symlink()
    assert len(written(tmp_path)) == 1
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert run(rules, GOOD, tmp_path, output=str(pipe)).exit_code == 0
    assert json.loads(os.read(reader, 65_536))["status"] == "correct"
    os.close(reader)
    assert pipe.is_fifo()


def test_what_cannot_be_read_written_or_found_is_a_user_error(rules: str, tmp_path: Path) -> None:
    missing = CliRunner().invoke(command, ["--verifier", rules, "--input", str(tmp_path / "none"), "--output", "-"])
    nowhere = run(rules, GOOD, tmp_path, output=str(tmp_path / "no" / "folder" / "out.jsonl"))
    unknown = run("gsm9k", GOOD, tmp_path)
    kinds = [type(result.exception) for result in (missing, nowhere, unknown)]
    assert kinds == [DataError, DataError, UnknownNameError]
    assert all(issubclass(kind, UserError) for kind in kinds)
    assert not (tmp_path / "out.jsonl").exists()


def test_the_answers_are_not_written_over(rules: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("cases.jsonl")
    for output in ("cases.jsonl", "link"):
        result = run(rules, GOOD, tmp_path, output=str(tmp_path / output))
        assert isinstance(result.exception, DataError)
        assert "is the input" in str(result.exception)
        assert (tmp_path / "cases.jsonl").read_text() == GOOD


def test_what_is_no_verifier_of_the_file_is_refused_and_not_offered(rules: str, tmp_path: Path) -> None:
    file = rules.partition(":")[0]
    for name, told in (("nope", "one of equal\n"), ("Verdict", "the class Verdict"), ("os", "module")):
        result = run(f"{file}:{name}", GOOD, tmp_path)
        assert isinstance(result.exception, UnknownNameError)
        assert told in str(result.exception), result.exception


def test_standard_streams_carry_verdicts_alone_and_mistakes_exit_2(rules: str, tmp_path: Path) -> None:
    def call(text: str) -> subprocess.CompletedProcess[str]:
        arguments = ["verify", "--verifier", rules, "--input", "-", "--output", "-"]
        return subprocess.run([sys.executable, "-m", "reasongym", *arguments], input=text,
                              capture_output=True, text=True, timeout=60, check=False)

    good = call(GOOD * 3)
    assert good.returncode == 0, good.stderr
    assert [json.loads(line)["status"] for line in good.stdout.splitlines()] == ["correct"] * 3
    bad = call(GOOD + "{}\n")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert "line 2" in bad.stderr
    assert "Traceback" not in bad.stderr


def test_a_line_without_an_end_is_refused(rules: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reasongym.cli.verify.MAX_LINE_BYTES", 100)
    exact = GOOD.strip().encode() + b" " * (99 - len(GOOD.strip())) + b"\n"
    assert run(rules, exact, tmp_path).exit_code == 0
    result = run(rules, GOOD.encode() + b" " + exact, tmp_path)
    assert "line 2 of the input is too long" in str(result.exception)


def test_depth_up_to_the_limit_is_allowed(rules: str, tmp_path: Path) -> None:
    deep = "[" * 99 + "]" * 99  # the line's own object is the hundredth level
    assert run(rules, f'{{"response": "1", "reference": {deep}, "id": {deep}}}', tmp_path).exit_code == 0


def test_input_that_can_be_read_only_once_is_read_whole(rules: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for text, status in ((GOOD * 5, 0), (GOOD * 5 + "{}\n", 1)):
        writer = threading.Thread(target=pipe.write_text, args=(text,))
        writer.start()
        arguments = ["--verifier", rules, "--input", str(pipe), "--output", str(tmp_path / "out.jsonl")]
        result = CliRunner().invoke(command, arguments)
        writer.join()
        assert result.exit_code == status
        assert len(written(tmp_path)) == 5


def test_a_standard_input_that_was_partly_read_goes_on_from_there(rules: str, tmp_path: Path) -> None:
    source = tmp_path / "cases.jsonl"
    source.write_text("a line of somebody else\n" + GOOD)
    with source.open("rb", buffering=0) as stream:
        stream.readline()
        done = subprocess.run([sys.executable, "-m", "reasongym", "verify", "--verifier", rules, "--input", "-"],
                              stdin=stream, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1), done.stderr


def test_no_more_than_a_window_of_answers_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, where none is done before it is asked for."""
    monkeypatch.setattr(verify, "MAX_AHEAD", 10)
    held: list[object] = []
    most = 0

    class Answer(Future[dict[str, Verdict]]):
        def result(self, timeout: float | None = None) -> dict[str, Verdict]:
            held.remove(self)
            return {verify.PART: Verdict.correct()}

    class Pool:
        def submit(self, response: str, example: Example) -> Future[dict[str, Verdict]]:
            nonlocal most
            held.append(Answer())
            most = max(most, len(held))
            return held[-1]  # type: ignore[return-value]

    row = Example(task="t", split="s", index=0, messages=(), reference=None)
    cases = (verify.Case(number, "", row) for number in range(1000))
    answered = [id_ for id_, _ in verify._in_order(Pool(), cases)]  # type: ignore[arg-type]
    assert answered == list(range(1000))
    assert (most, held) == (10, [])


def test_a_file_that_hangs_while_it_is_imported_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text("while True: pass\n")
    result = run(f"{tmp_path / 'rules.py'}:rule", GOOD, tmp_path, "--start-timeout", "0.5")
    assert isinstance(result.exception, ScoringError)
    assert "nothing heard of it for 0.5 s: does a file wait while it is imported?" in str(result.exception)
    assert not (tmp_path / "out.jsonl").exists()


def test_a_verifier_of_batches_gets_no_more_than_asked(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text(
        "from reasongym.verifiers import Verdict, verifier\n\n@verifier('batch_of_verify', batch=True)\n"
        "def rule(responses, references, *, examples):\n"
        "    return [Verdict.correct(response, str(len(responses) <= 4)) for response in responses]\n")
    cases = lines(*({"id": i, "response": f"{i}", "reference": ""} for i in range(50)))
    assert run(f"{tmp_path / 'rules.py'}:rule", cases, tmp_path, "--batch-size", "4").exit_code == 0
    assert [(row["id"], row["extracted"], row["reason"]) for row in written(tmp_path)] == \
        [(i, f"{i}", "True") for i in range(50)]


@pytest.mark.parametrize("arguments", [["--help"], ["--verifier", "gsm8k", "--input", "cases.jsonl"]])
def test_it_starts_without_what_is_slow_to_load(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text(GOOD)
    script = ("import sys\nfrom reasongym.cli import cli\n"
              f"cli(['verify', *{arguments!r}], standalone_mode=False)\n"
              "print(*sorted({'asyncio', 'pydantic', 'yaml', 'rich', 'sympy', 'jsonschema', 'torch', 'ray', 'numpy'} & "
              "sys.modules.keys()), file=sys.stderr)")
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, ""), done.stderr


def test_help_shows_how_to_call_it() -> None:
    output = CliRunner().invoke(command, ["--help"]).output
    assert "reasongym verify --verifier gsm8k --input answers.jsonl --output verdicts.jsonl" in output
