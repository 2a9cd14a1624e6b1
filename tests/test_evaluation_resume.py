"""Killed at any moment and resumed: what was answered is not asked again, nothing is lost, the result is the same."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from endpoint_server import Asked, Handler, Server, chat, serving

from reasongym.errors import ConfigError, DataError, ResourceError
from reasongym.evaluation.journal import JOURNAL, Journal
from reasongym.evaluation.samples import Answer

ROWS, SAMPLES = 6, 2
HEAVY = ("torch", "ray", "vllm", "deepspeed", "transformers", "datasets", "huggingface_hub")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Row i has the gold answer i % 3."""
    folder = tmp_path_factory.mktemp("rows")
    (folder / "test.jsonl").write_text("".join(
        json.dumps({"question": f"Row {i}?", "answer": f"so #### {i % 3}"}) + "\n" for i in range(ROWS)))
    return folder


def answer(asked: Asked) -> dict[str, Any]:
    """A function of row and seed alone: a number from 0 to 2."""
    found = re.search(r"Row (\d+)", asked.question)
    assert found is not None
    return chat(f"#### {(int(found[1]) * 7 + asked.body['seed']) % 3}")


def evaluate(server: Server, *arguments: str, cwd: Path) -> subprocess.Popen[str]:
    """In a process where the heavy half is not installed."""
    script = (f"import sys; sys.modules.update(dict.fromkeys({HEAVY!r})); "
              "sys.argv[0] = 'reasongym'; from reasongym.cli import main; main()")
    return subprocess.Popen([sys.executable, "-c", script, "eval", *arguments], cwd=cwd, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            env=os.environ | {"no_proxy": "*", "PYTHONPATH": str(Path(__file__).parents[1])})


def fresh(server: Server, rows: Path) -> list[str]:
    return ["--task", "gsm8k", "--data", str(rows), "--model", "m", "--endpoint", server.url, "--samples", str(SAMPLES),
            "--concurrency", "3", "--output", "out", "--recipe", "cpu"]


@pytest.fixture(scope="module")
def whole(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of an evaluation that was not disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    with serving(lambda asked, handler: handler.answer(answer(asked))) as server:
        process = evaluate(server, *fresh(server, rows), cwd=folder)
        told = process.communicate(timeout=100)[0]
    assert process.returncode == 0, told
    return folder / "out"


def figures(folder: Path) -> dict[str, Any]:
    record = json.loads((folder / "results.json").read_text())
    return {name: record[name] for name in ("metrics", "counts", "shares", "partial", "tokens")}


@pytest.mark.slow
@pytest.mark.parametrize("kill_at", [1, 5, 12])
def test_what_was_answered_before_a_kill_is_not_asked_again_and_the_result_is_the_same(
        kill_at: int, rows: Path, whole: Path, tmp_path: Path) -> None:
    victim: list[int] = []

    def behave(asked: Asked, handler: Handler) -> None:
        if victim and asked.number == kill_at:
            os.kill(victim.pop(), signal.SIGKILL)  # before the reply: this one is in flight
        handler.answer(answer(asked))

    with serving(behave) as server:
        process = evaluate(server, *fresh(server, rows), cwd=tmp_path)
        victim.append(process.pid)
        told = process.communicate(timeout=100)[0]
        assert process.returncode == -signal.SIGKILL, told
        lines = (tmp_path / "out" / JOURNAL).read_bytes().splitlines()
        kept = {tuple(json.loads(line)["key"]) for line in lines if line.endswith(b"}") and b'"answer"' in line}
    with serving(behave) as other:  # what the first had on its way may still arrive there
        again = evaluate(other, "--resume", "out", "--endpoint", other.url, cwd=tmp_path)
        told = again.communicate(timeout=100)[0]
        assert again.returncode == 0, told
    first, second = server.asked, other.asked
    # only what was in flight at the kill, at most 3 at a time, may have been asked before
    assert len(second) == ROWS * SAMPLES - len(kept)
    asked = Counter((one.question, one.body["seed"]) for one in [*first, *second])
    assert len(asked) == ROWS * SAMPLES
    assert sum(asked.values()) <= ROWS * SAMPLES + 3
    assert figures(tmp_path / "out") == figures(whole)
    assert not (tmp_path / "out" / JOURNAL).exists()


def test_a_partial_result_is_marked_told_of_and_completed_by_what_is_missing_alone(rows: Path, tmp_path: Path) -> None:
    broken = [True]

    def behave(asked: Asked, handler: Handler) -> None:
        if broken[0] and "Row 4" in asked.question:
            handler.answer({"error": "no"}, 400)
        else:
            handler.answer(answer(asked))

    with serving(behave) as server:
        process = evaluate(server, *fresh(server, rows), "--price-in", "1", "--price-out", "2", cwd=tmp_path)
        told = process.communicate(timeout=100)[0]
        assert process.returncode == 1, told
        assert "PARTIAL: 2 of 12 answers did not come" in told
        assert "reasongym eval --resume out" in told
        partial = figures(tmp_path / "out")
        assert (partial["partial"], partial["counts"]["missing"], partial["counts"]["status_wrong"]
                + partial["counts"]["status_correct"]) == (True, 2, 10)
        broken[0], server.asked = False, []
        again = evaluate(server, "--resume", "out", "--endpoint", server.url, cwd=tmp_path)
        assert again.communicate(timeout=100)[0]
        assert (again.returncode, len(server.asked)) == (0, 2)
    record = json.loads((tmp_path / "out/results.json").read_text())
    assert (record["partial"], record["counts"]["answered"]) == (False, 12)
    # 12 answers of 5 + 7 tokens, at 1 and 2 a million
    assert record["cost"]["total"] == pytest.approx((12 * 5 * 1 + 12 * 7 * 2) / 1e6)


# --- the journal alone ---


def test_a_line_that_was_cut_off_is_dropped_wherever_the_cut_is(tmp_path: Path) -> None:
    with Journal(tmp_path, "plan") as journal:
        for n in range(3):
            journal.keep((n, 0), Answer(text=f"\ud800 {n}", token_ids=(1, 2), logprobs=(0.5, -1.0)))
    whole = journal.path.read_bytes()
    last = len(whole) - len(whole.splitlines(keepends=True)[-1])
    for length in range(last, len(whole), 7):
        journal.path.write_bytes(whole[:length])
        with Journal(tmp_path, "plan") as again:
            assert list(again.known) == [(0, 0), (1, 0)]
            again.keep((2, 0), Answer(text="asked again"))
        with Journal(tmp_path, "plan") as third:
            assert third.known[0, 0] == Answer(text="\ud800 0", token_ids=(1, 2), logprobs=(0.5, -1.0))
            assert third.known[2, 0].text == "asked again"


def test_answers_to_other_questions_are_never_taken_over(tmp_path: Path) -> None:
    with Journal(tmp_path, "plan") as journal:
        journal.keep((0, 0), Answer(text="1"))
    with pytest.raises(ConfigError, match="answers to other questions"):
        Journal(tmp_path, "another plan")
    assert b'"answer"' in journal.path.read_bytes()


def test_damage_before_the_last_line_is_not_passed_over(tmp_path: Path) -> None:
    with Journal(tmp_path, "plan") as journal:
        for n in range(3):
            journal.keep((n, 0), Answer(text=str(n)))
    lines = journal.path.read_bytes().splitlines(keepends=True)
    journal.path.write_bytes(b"".join([*lines[:3], lines[3][:20] + b"\n", *lines[4:]]))
    with pytest.raises(DataError, match="line 4"):
        Journal(tmp_path, "plan")


def test_a_full_disk_leaves_no_half_line_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    with Journal(tmp_path, "plan") as journal:
        journal.keep((0, 0), Answer(text="0"))
        monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:9]))
        with pytest.raises(ResourceError, match="No space left"):
            journal.keep((1, 0), Answer(text="1"))
        monkeypatch.undo()
        journal.keep((2, 0), Answer(text="2"))
    with Journal(tmp_path, "plan") as again:
        assert list(again.known) == [(0, 0), (2, 0)]


def test_two_processes_do_not_write_one_journal(tmp_path: Path) -> None:
    with Journal(tmp_path, "plan"), pytest.raises(ConfigError, match="another process"):
        Journal(tmp_path, "plan")
    with Journal(tmp_path, "plan"):
        pass


def test_the_seconds_of_earlier_sessions_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("reasongym.evaluation.journal.time.monotonic", lambda: now[0])
    for n, spent in enumerate((2.0, 3.0)):
        with Journal(tmp_path, "plan") as journal:
            now[0] += spent
            journal.keep((n, 0), Answer())
    with Journal(tmp_path, "plan") as journal:
        assert journal.seconds == 5.0
