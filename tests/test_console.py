"""What a person sees while a run trains."""

from __future__ import annotations

import contextlib
import io
import random
import re
from pathlib import Path

import pytest
from sample_runs import HOSTILE, sample_run, training_row

from reasongym.printable import printable, shorten
from reasongym.tracking import MetricsLog, Progress, RunFolder
from reasongym.tracking.numbers import duration
from reasongym.tracking.step_line import StepLine


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def progress(stream: io.StringIO, clock: Clock) -> Progress:
    return Progress(4, stream=stream, clock=clock)


def values() -> dict[str, float]:
    return training_row(0.5, random.Random(0))


def test_a_log_file_gets_no_control_characters(progress: Progress, stream: io.StringIO) -> None:
    with progress:
        progress.header({"task": HOSTILE})
        progress.banner(HOSTILE)
        progress.note(HOSTILE)
        progress.phase(1, HOSTILE, 1, 2)
        progress.step(1, values())
        progress.evaluation(1, {"eval/reward/mean": 0.5, f"eval/reward/{HOSTILE}": 0.25, "eval/prompts": 64})
    assert re.findall(r"[^\n -~]", stream.getvalue()) == []


def test_markup_in_a_models_text_is_shown_not_obeyed(stream: io.StringIO) -> None:
    with Progress(1, plain=False, stream=stream) as progress:
        progress.note("[bold red]reward[/] :smile:")
    assert "[bold red]reward[/] :smile:" in stream.getvalue()


def test_a_step_is_one_line_under_its_heading(progress: Progress, stream: io.StringIO, clock: Clock) -> None:
    progress.step(1, values() | {"reward/mean": 0.1234, "step/seconds": 20.0})
    clock.now = 30.0
    progress.step(2, values() | {"reward/mean": 0.5})
    heading, first, second = stream.getvalue().splitlines()
    assert heading.split()[:5] == ["step", "reward", "answer", "format", "length"]
    assert first.split()[:2] == ["1/4", "0.123"]
    assert first.endswith("1 min 00 s")  # 3 steps of 20 s
    assert second.split()[:2] == ["2/4", "0.500"]
    assert second.endswith("1 min 00 s")  # 2 steps of the 30 s between the two lines
    assert heading.index("reward") + len("reward") == first.index("0.123") + len("0.123")


def test_a_narrow_terminal_loses_columns_not_the_reward() -> None:
    row = values()
    narrow, wide = StepLine(100, width=60), StepLine(100, width=200)
    assert len(narrow.row(100, row, eta=3599)) <= 60
    assert "reward" in narrow.heading(row)
    assert "mismatch" not in narrow.heading(row)
    assert "mismatch" in wide.heading(row)


def test_a_step_that_lacks_a_metric_keeps_its_columns() -> None:
    line = StepLine(9, width=200)
    full, lacking = line.row(1, values(), eta=0), line.row(1, {"reward/mean": 0.5}, eta=0)
    assert lacking.split() == ["1/9", "0.500", *"-" * 9, "0", "s"]
    assert len(lacking) == len(full)


def test_the_status_counts_what_is_under_way(progress: Progress, clock: Clock, stream: io.StringIO) -> None:
    progress.phase(3, "sampling", 10, 64)
    clock.now = 12.0
    progress.phase(3, "sampling", 37, 64)
    progress.phase(3, "scored", 35, 64)
    assert progress._status_text() == "step 3/4: sampling 37/64 · scored 35/64 · 12 s"
    progress.phase(3, "sampling", 64, 64)
    progress.phase(3, "scored", 64, 64)
    progress.phase(3, "training", 0, 0)
    assert progress._status_text() == "step 3/4: training · 12 s"
    assert stream.getvalue() == ""  # a log is not flooded
    clock.now = 31.0
    progress.phase(3, "training", 0, 0)
    assert stream.getvalue() == "step 3/4: training · 31 s\n"
    progress.step(3, values())
    clock.now = 40.0
    progress.phase(3, "evaluating", 1, 64)
    assert progress._status_text() == "step 3/4: evaluating 1/64 · 0 s"


def test_a_terminal_of_another_encoding_does_not_stop_a_run(clock: Clock) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", write_through=True)
    Progress(4, stream=stream, clock=clock).note("größer")
    assert raw.getvalue() == b"gr??er\n"


def test_the_summary_says_what_to_type_next(progress: Progress, stream: io.StringIO, tmp_path: Path) -> None:
    folder = sample_run(tmp_path / "my run")
    progress.summary(folder.path, "arithmetic", "smollm2-135m")
    text = stream.getvalue()
    # level 40 / (40 + 12) = 0.769: held-out reward 0.95 of it, answer 0.9 of it, format min(1, 1.3 of it)
    assert "Held-out reward       0.000 -> 0.731 (+0.731, steps 0 to 40)" in text
    assert "Held-out answer       0.000 -> 0.692 (+0.692, steps 0 to 40)" in text
    assert "Held-out format       0.000 -> 1.000 (+1.000, steps 0 to 40)" in text
    assert "Best held-out answer  0.692 (0.623 to 0.750, step 40)" in text
    assert "Run folder            " in text
    assert f"reasongym report '{folder.path}'" in text
    assert f"reasongym eval --model '{folder.path}/final' --task arithmetic" in text
    assert f"AutoModelForCausalLM.from_pretrained('{folder.path}/final')" in text


def test_a_run_that_was_stopped_before_its_first_step_has_a_summary(progress: Progress, stream: io.StringIO,
                                                                    tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "x")
    progress.summary(folder.path, "gsm8k", "smollm2-135m")
    MetricsLog(folder, tensorboard=False).write(1, {"reward/mean": float("nan")})
    progress.summary(folder.path, "gsm8k", "smollm2-135m")
    assert stream.getvalue().count("Next:") == 2


def test_the_summary_says_what_went_wrong(progress: Progress, stream: io.StringIO, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "x")
    log = MetricsLog(folder, tensorboard=False)
    for step in range(1, 4):
        log.write(step, {"train/loss": 0.7 - 0.1 * step, "train/grad_norm": 0.0})
    progress.summary(folder.path, "gsm8k", "smollm2-135m")
    assert "The gradient is 0, since step 1.\n  To try: " in stream.getvalue()
    assert "0.600 -> 0.400 (-0.200, steps 1 to 3)" in stream.getvalue()  # of a run that samples nothing


def test_an_interrupted_run_gives_the_cursor_back(clock: Clock) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    with contextlib.suppress(KeyboardInterrupt), Progress(4, stream=terminal, clock=clock) as progress:
        progress.phase(1, "sampling", 1, 2)
        raise KeyboardInterrupt
    hidden, shown = terminal.getvalue().rfind("\x1b[?25l"), terminal.getvalue().rfind("\x1b[?25h")
    assert 0 <= hidden < shown


@pytest.mark.parametrize(("seconds", "text"), [
    (0, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (3599.6, "1 h 00 min"), (7620, "2 h 07 min"), (-1, "0 s")])
def test_a_duration_never_has_sixty_seconds(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_printable_keeps_what_people_write() -> None:
    assert printable("naïve 数学 👩\u200d🔬\n\tx\u00a0y") == "naïve 数学 👩\u200d🔬\n\tx y"
    assert printable("\x00\r\x9b\u2066\u2028\ud800") == "\\x00\\r\\x9b\\u2066\\u2028\\ud800"


def test_a_shortened_answer_keeps_its_end() -> None:
    # 30 of 1000 characters: 20 from the head, 10 from the tail, 970 left out
    text = shorten("a" * 990 + "#### 42 ok", 30)
    assert text == "a" * 20 + "\n[... 970 characters left out ...]\n#### 42 ok"
    assert shorten("short", 30) == "short"


def test_a_run_that_samples_nothing_shows_its_loss_and_not_dashes() -> None:
    line = StepLine(10, width=120)
    values = {"train/loss": 0.6931, "train/pair_accuracy": 0.5, "train/reward_chosen": 0.01,
              "train/reward_rejected": -0.01, "train/tokens_per_second": 100.0, "train/grad_norm": 1.0}
    heading = line.heading(values)
    assert heading.split()[:5] == ["step", "loss", "pairs", "right", "chosen"]
    assert "reward" not in heading
    assert "-  " not in line.row(1, values, eta=3.0)
