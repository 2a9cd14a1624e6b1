"""`reasongym eval` against lm-evaluation-harness on one served model: prompts, completions and verdicts, row by row.

lm-evaluation-harness is no dependency: install it apart and put it on the path, or the benchmark says so and measures
nothing. `--no-deps` keeps the versions of what both share.

    pip install --no-deps --target ~/lm_eval_env lm_eval==0.4.13 absl-py chardet colorama DataProperty evaluate joblib \
        lxml mbstrdecoder more_itertools narwhals nltk pathvalidate portalocker pytablewriter rouge_score sacrebleu \
        scikit-learn sqlitedict tabledata tcolorpy tenacity threadpoolctl typepy word2number
    PYTHONPATH=~/lm_eval_env python -m benchmarks lm_eval_harness
    PYTHONPATH=~/lm_eval_env python -m benchmarks.lm_eval_harness --rows 8 --folder /tmp/beside

The harness runs as published, by its own command and its own task `gsm8k` (5 shots, greedy), which reads the files of
../shared/data in place of the hub. The model is the embedded one behind vLLM's OpenAI-compatible server; `--endpoint`
and `--model` name another. The stop words of `reasongym eval` are those that the harness's log says it sent.

1. Prompts, byte by byte: of the whole test split without a model, then of the rows that were really asked.
2. Completions and verdicts of each row. Where a completion differs, so may its verdict: the first character that
   differs is printed, and by how much the likeliest next token leads the second there. Greedy decoding flips where
   they are nearly tied and a batch was of another shape; with `--concurrency 1` there is no other shape.
3. The same texts before both judges: each of the harness's completions before our verifiers, and each of ours before
   the harness's filters and metric. A difference here would be a fault of an extractor.

What a folder holds already is not asked again.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import lm_eval_runs as runs
from reasongym import registry
from reasongym.evaluation.samples import SAMPLES, Sample
from reasongym.models import EMBEDDED
from reasongym.tasks import TaskOptions
from reasongym.verifiers import as_verdict

ROWS = 200


class Compared(NamedTuple):
    """One row. Verdicts: filter -> right. at: the first character that differs, or None; lead: in nats, there."""

    row: int
    same_prompt: bool
    at: int | None
    lead: float
    theirs: Mapping[str, bool]
    ours: Mapping[str, bool]
    theirs_by_us: Mapping[str, bool]
    ours_by_them: Mapping[str, bool]

    @property
    def why(self) -> str:
        if not self.same_prompt:
            return "another prompt"
        if self.at is None:
            return "judged otherwise" if self.theirs != self.ours else "same"
        return f"another completion from character {self.at} on, where two tokens are {self.lead:.3f} nats apart"


def measure(*, rows: int = ROWS, folder: Path | None = None, endpoint: str | None = None, model: str = EMBEDDED,
            concurrency: int = 16, shots: int = 5) -> dict[str, float]:
    """Prints each row that differs, and why; counts of rows, equal prompts, completions and verdicts."""
    if importlib.util.find_spec("lm_eval") is None or not runs.DATA.is_dir():
        missing = "../shared/data/gsm8k" if importlib.util.find_spec("lm_eval") else "lm_eval"
        print(f"lm_eval_harness: {missing} is not there; the head of benchmarks/lm_eval_harness.py says how to get it")
        return {}
    with contextlib.ExitStack() as stack:
        folder = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lm-eval-")))
        figures = _all_prompts(folder / "prompts")
        data = runs.lay_out(folder, rows)
        endpoint = endpoint or stack.enter_context(runs.served(folder))
        theirs, ours, seconds = _asked(data, folder, endpoint, model, concurrency, shots)
        compared = _compared(data, theirs, ours, lambda text: runs.lead(endpoint, model, text))
    print(table(compared))
    return figures | _counts(compared) | seconds


def table(compared: Sequence[Compared]) -> str:
    """The rows whose completion or verdict differs; strict, then flexible, the harness's verdict first."""
    def word(verdicts: Mapping[str, bool]) -> str:
        return ", ".join("right" if verdicts[name] else "wrong" for name in runs.FILTERS)

    different = [row for row in compared if row.why != "same"]
    lines = [f"| {row.row} | {word(row.theirs)} | {word(row.ours)} | {row.why} |" for row in different]
    return "\n".join(["| row | lm_eval: strict, flexible | reasongym | difference |", "|---|---|---|---|", *lines,
                      f"{len(compared) - len(different)} of {len(compared)} rows are the same throughout"])


def _all_prompts(folder: Path) -> dict[str, float]:
    """Every prompt of the test split; the harness's model `dummy` answers nothing, but logs what it was asked."""
    folder.mkdir(parents=True, exist_ok=True)
    size = len((runs.DATA / "test.jsonl").read_text(encoding="utf-8").splitlines())
    data = runs.lay_out(folder, size)
    if not (folder / "asked").exists():
        runs.ask_by_harness(data, folder / "asked", [], model="dummy")
    task = registry.task("gsm8k", TaskOptions(data=str(data), settings={"style": "lm_eval"}))
    same = sum(asked.prompt == task.example("test", index).messages[0]["content"]
               for index, asked in enumerate(runs.read_harness(folder / "asked")))
    print(f"{same} of {size} prompts of the test split are equal, byte by byte")
    return {"prompts": size, "prompts_equal": same}


def _asked(data: Path, folder: Path, endpoint: str, model: str, concurrency: int,
           shots: int) -> tuple[list[runs.Asked], list[Sample], dict[str, float]]:
    """What the harness asked, what we did, and the seconds of each that was not in the folder already."""
    theirs, ours = folder / "lm_eval", folder / "reasongym"
    seconds: dict[str, float] = {}
    if not theirs.exists():
        started = time.monotonic()
        runs.ask_by_harness(data, theirs, runs.local_completions(endpoint, model, concurrency), shots=shots)
        seconds["lm_eval_s"] = round(time.monotonic() - started, 1)
    asked = runs.read_harness(theirs)
    if not (ours / SAMPLES).exists():
        started = time.monotonic()
        runs.ask_by_ours(data, ours, endpoint, model, until=asked[0].until, concurrency=concurrency, shots=shots)
        seconds["reasongym_s"] = round(time.monotonic() - started, 1)
    return asked, runs.read_ours(ours / SAMPLES), seconds


def _compared(data: Path, theirs: Sequence[runs.Asked], ours: Sequence[Sample],
              lead: Callable[[str], float]) -> list[Compared]:
    crossed = runs.harness_verdicts(data, [sample.answer.text for sample in ours])
    found = []
    for row, (asked, sample, ours_by_them) in enumerate(zip(theirs, ours, crossed, strict=True)):
        at = first_difference(asked.completion, sample.answer.text)
        same = asked.prompt == sample.prompt.text
        reference: Any = sample.prompt.example.reference
        found.append(Compared(
            row, same, at, lead(asked.prompt + asked.completion[:at]) if same and at is not None else 0.0,
            asked.verdicts, {name: sample.verdicts[ours_].score == 1 for name, ours_ in runs.FILTERS.items()},
            {name: as_verdict(registry.verifier(ours_)(asked.completion, reference, example={})).score == 1
             for name, ours_ in runs.FILTERS.items()}, ours_by_them))
    return found


def first_difference(one: str, other: str) -> int | None:
    """The place of the first character that differs, the shorter's end where it begins the longer; None for equals."""
    if one == other:
        return None
    return next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
                min(len(one), len(other)))


def _counts(compared: Sequence[Compared]) -> dict[str, float]:
    figures: dict[str, float] = {
        "rows": len(compared), "asked_prompts_equal": sum(row.same_prompt for row in compared),
        "completions_equal": sum(row.at is None for row in compared)}
    for name, short in zip(runs.FILTERS, ("strict", "flexible"), strict=True):
        figures |= {
            f"{short}_verdicts_equal": sum(row.theirs[name] == row.ours[name] for row in compared),
            f"{short}_same_text_equal": sum((row.theirs[name] == row.theirs_by_us[name])
                                            + (row.ours[name] == row.ours_by_them[name]) for row in compared),
            f"{short}_right_lm_eval": sum(row.theirs[name] for row in compared),
            f"{short}_right_reasongym": sum(row.ours[name] for row in compared)}
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="`reasongym eval` against lm-evaluation-harness on one model")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--folder", type=Path, help="keep everything there, and go on with what it holds")
    parser.add_argument("--endpoint", help="a server that runs, up to /v1")
    parser.add_argument("--model", default=EMBEDDED, help="its name at --endpoint")
    parser.add_argument("--concurrency", type=int, default=16, help="requests at a time, of both")
    parser.add_argument("--shots", type=int, default=5, help="fewer make shorter prompts")
    chosen = vars(parser.parse_args())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the server ends with this process
    chosen["folder"] = chosen["folder"] and chosen["folder"].resolve()
    for name, value in measure(**chosen).items():
        print(f"{name:28} {value:g}")


if __name__ == "__main__":
    main()
