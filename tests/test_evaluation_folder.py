"""The folder of an evaluation: one process has it, nothing that holds answers is lost, nothing empty is left."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from eval_command_line import Engines, Run, run_in, write_rows

from reasongym.errors import ConfigError, DataError, ResourceError
from reasongym.evaluation.folder import REQUEST, begun, claim_numbered, resumed
from reasongym.evaluation.journal import JOURNAL, Journal
from reasongym.evaluation.samples import Answer


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    return run_in(tmp_path, write_rows(tmp_path / "rows"), monkeypatch)


def quiet(line: str) -> None:
    pass


def test_two_calls_of_one_second_have_a_folder_each(tmp_path: Path) -> None:
    name = tmp_path / "evals" / "gsm8k-20260101-120000"
    with begun(name, {}, is_numbered=True, tell=quiet) as one, begun(name, {}, is_numbered=True, tell=quiet) as two:
        assert [one.name, two.name] == ["gsm8k-20260101-120000", "gsm8k-20260101-120000-2"]


def test_a_name_that_is_taken_between_the_look_and_the_making_is_not_shared(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").mkdir()
    monkeypatch.setattr(Path, "exists", lambda self, **options: False)  # what a call saw a moment before
    assert claim_numbered(tmp_path / "x").name == "x-2"


def test_the_second_call_with_one_output_is_refused_and_takes_nothing_from_the_first(
        run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir()
    with begun(Path("out"), {"a": 1}, is_numbered=False, tell=quiet):
        before = Path("out", REQUEST).read_bytes()
        Path("out", JOURNAL).write_bytes(b"begun")
        assert run("--output", "out") == 2
        assert "out is in use" in capsys.readouterr().err
        assert (Path("out", REQUEST).read_bytes(), Path("out", JOURNAL).read_bytes()) == (before, b"begun")


def test_a_call_that_looked_before_the_first_had_claimed_the_folder_is_refused(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with begun(tmp_path / "out", {"a": 1}, is_numbered=False, tell=quiet):
        monkeypatch.setattr("reasongym.evaluation.folder.refuse_used", lambda path, remedy: None)
        with pytest.raises(ConfigError, match="in use"), begun(tmp_path / "out", {}, is_numbered=False, tell=quiet):
            pytest.fail("two processes have it")
        assert json.loads((tmp_path / "out" / REQUEST).read_text()) == {"options": {"a": 1}}


def test_of_two_that_go_on_with_a_folder_the_second_starts_no_engine(
        run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--limit", "2", "--output", "out") == 0
    monkeypatch.setattr("reasongym.cli.eval_sources.open_engines", lambda *_: pytest.fail("engines were started"))
    with resumed(Path("out"), tell=quiet):
        assert run.resume("out") == 2  # type: ignore[attr-defined]
    assert "another process evaluates into out" in capsys.readouterr().err


def test_a_folder_whose_holder_took_it_away_is_not_gone_on_with(tmp_path: Path,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / REQUEST).write_text("{}")
    monkeypatch.setattr("reasongym.evaluation.folder.fcntl.flock", lambda *_: (tmp_path / REQUEST).unlink())
    with pytest.raises(DataError, match="no evaluation to go on with"), resumed(tmp_path, tell=quiet):
        pytest.fail("answers would be written where nobody finds them")


def test_what_fails_before_an_answer_leaves_no_folder_and_after_one_says_how_to_go_on(tmp_path: Path) -> None:
    told: list[str] = []

    def fail_in(folder: Path, journal: str) -> None:
        with begun(folder, {}, is_numbered=False, tell=told.append):
            (folder / "1-gsm8k").mkdir()
            (folder / "1-gsm8k" / JOURNAL).write_text(journal)
            raise KeyboardInterrupt

    for name, journal in (("a", '{"form":1}\n'), ("b", '{"form":1}\n{"key":[0,0],"answer":{}}\n')):
        with pytest.raises(KeyboardInterrupt):
            fail_in(tmp_path / name, journal)
    assert [folder.name for folder in tmp_path.iterdir()] == ["b"]
    assert told == [f"\nanswers so far are kept: reasongym eval --resume {tmp_path / 'b'}"]


def test_a_disk_that_fills_up_under_way_loses_no_answer(run: Run, monkeypatch: pytest.MonkeyPatch,
                                                        capsys: pytest.CaptureFixture[str]) -> None:
    write, written = os.write, list[bytes]()

    def full_after_two(file: int, data: bytes) -> int:
        if b'"answer"' in data:
            written.append(data)
            if len(written) > 2:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, data)

    monkeypatch.setattr(os, "write", full_after_two)
    assert run("--output", "out") == 2
    told = capsys.readouterr().err
    assert "No space left on device" in told
    assert "reasongym eval --resume out" in told
    assert not Path("out/results.json").exists()
    monkeypatch.setattr(os, "write", write)
    asked: list[object] = []
    stream = Engines.stream
    monkeypatch.setattr(Engines, "stream", lambda self, requests: asked.extend(requests) or stream(self, requests))
    assert run.resume("out") == 0  # type: ignore[attr-defined]
    assert len(asked) == 4  # of six rows


def test_a_disk_that_is_full_at_the_claim_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:3]))
    with pytest.raises(ResourceError), begun(tmp_path / "out", {}, is_numbered=False, tell=quiet):
        pytest.fail("it was not claimed")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [
    "[]", "{}", '{"options": []}', '{"options": {"samples": "many"}}', '{"options": {"of_somebody_else": 1}}',
    '{"options": {"temperature": NaN}}', "\udcff",
])
def test_a_request_of_somebody_else_is_refused(content: str, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    Path("theirs").mkdir()
    Path("theirs", REQUEST).write_bytes(content.encode("utf-8", "surrogateescape"))
    assert run.resume("theirs") == 2  # type: ignore[attr-defined]
    assert "remedy:" in capsys.readouterr().err
    assert [file.name for file in Path("theirs").iterdir()] == [REQUEST]


@pytest.mark.parametrize("tail", [b'{"key":[1,0],"answer":{"text":"\xe2\x82', b"\x00" * 512, b'"\xf0\x9f\x98"\n'])
def test_a_last_line_that_a_crash_cut_within_a_character_or_left_blank_is_dropped(tail: bytes, tmp_path: Path) -> None:
    with Journal(tmp_path, "plan") as journal:
        journal.keep((0, 0), Answer(text="\u20ac"))
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole + tail)
    with Journal(tmp_path, "plan") as again:
        assert [(key, answer.text) for key, answer in again.known.items()] == [((0, 0), "\u20ac")]
        assert again.path.read_bytes().startswith(whole + b'{"session"')


@pytest.mark.parametrize("line", [b"[1, 2]\n", b"7\n", b'{"question": "?"}\n', b"\xff\xfe\n{}\n"])
def test_a_journal_of_somebody_else_is_refused_and_left_as_it_is(line: bytes, tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_bytes(line + b'{"more": 1}\n')
    with pytest.raises((ConfigError, DataError)):
        Journal(tmp_path, "plan")
    assert (tmp_path / JOURNAL).read_bytes() == line + b'{"more": 1}\n'
