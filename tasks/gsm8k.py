"""GSM8K: 7,473 + 1,319 grade-school word problems with worked solutions (Cobbe et al. 2021, arXiv 2110.14168).

Rows come from the first of these that is there:
1. `TaskOptions.data`: a .jsonl or .parquet file, or a folder of them
2. the folder named by the environment variable REASONGYM_DATA, or `gsm8k` in it
3. the hub data set `openai/gsm8k`, configuration `main`, or its copy in the local cache
4. in training only: `word_problems`, problems of our own making, and the provenance says so
Setting: `shots`, 0 to 4 answered problems shown before the question; the default is 0.
A folder holds `train.jsonl` and `test.jsonl`, or the same as Parquet, also as `main-train.parquet`,
`main/train-*.parquet` or `train-*.parquet`. A single file is the split its name says; any other name is split by
content, 1 row in 8 for test.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from reasongym.errors import DataError, message
from reasongym.tasks.base import Example, Task, TaskOptions, content_split, describes
from reasongym.tasks.gsm8k_files import Row, as_row, named_split, read_file, split_files
from reasongym.tasks.prompting import FINAL_LINE_REWARDS, MAX_SHOTS, final_line_messages
from reasongym.tasks.settings import check_names, integer

__all__ = ["GSM8K", "gsm8k"]

_HUB_NAME = "openai/gsm8k"
_CONNECT_S = 5.0


class GSM8K(Task):
    """Rows that are already read."""

    name = "gsm8k"
    description = "Grade-school word problems; the answer ends in `#### <number>`."
    rewards = FINAL_LINE_REWARDS

    def __init__(self, rows: Mapping[str, Sequence[Row]], source: str, *, shots: int = 0) -> None:
        """rows: by split; `source` is what the provenance says; shots: answered problems before the question."""
        self._shots = shots
        self.splits = tuple(split for split in ("train", "test") if rows.get(split))
        self._rows = {split: tuple(rows[split]) for split in self.splits}
        self._source = source

    def size(self, split: str) -> int:
        return len(self._split(split))

    def example(self, split: str, index: int, *, seed: int = 0) -> Example:
        rows = self._split(split)
        if not 0 <= index < len(rows):
            raise DataError(message(f"gsm8k has no row {index} in split {split!r}", got=index,
                                    expected=f"0 to {len(rows) - 1}", remedy="ask for fewer rows"))
        found = rows[index]
        return Example(task=self.name, split=split, index=index,
                       messages=final_line_messages(found.question, shots=self._shots),
                       reference=found.answer.rsplit("####", 1)[1].strip(),
                       solution=re.sub(r"<<[^<>]{0,200}>>", "", found.answer).strip())

    @classmethod
    def rows_from(cls, options: TaskOptions) -> str:
        local = _local(options)
        return f"{local}" if local else f"hub data set {_HUB_NAME}"

    def provenance(self) -> Mapping[str, str]:
        digest = hashlib.sha256()
        for split in self.splits:
            for found in self._rows[split]:
                digest.update(f"{split}\x1f{found.question}\x1f{found.answer}\x1e".encode())
        rows = ", ".join(f"{split} {len(self._rows[split])}" for split in self.splits)
        return {"source": self._source, "rows": rows, "fingerprint": digest.hexdigest()}

    def _split(self, split: str) -> tuple[Row, ...]:
        if split not in self._rows:
            raise DataError(message(f"gsm8k has no split {split!r}", got=split,
                                    expected=f"one of {', '.join(self.splits)} (from {self._source})",
                                    remedy="name a split that is there, or pass a folder that holds it"))
        return self._rows[split]


@describes(GSM8K)
def gsm8k(options: TaskOptions) -> Task:
    """The task, from the first source that is there. Raises DataError when none is, or when a row is malformed."""
    check_names("gsm8k", options.settings, ("shots",))
    shots = integer("gsm8k", "shots", options.settings.get("shots", 0), low=0, high=MAX_SHOTS)
    local = _local(options)
    if local is not None:
        return GSM8K(_by_split(local), str(local), shots=shots)
    try:
        loaded = _from_hub()
    except DataError:
        if not options.training:
            raise
    else:
        return GSM8K(_checked(loaded), f"hub data set {_HUB_NAME} (main)", shots=shots)
    # Tasks do not import one another; this is the one exception: a run without data trains on a substitute.
    from reasongym.tasks.word_problems import WordProblems

    return WordProblems(TaskOptions(training=True, settings={"shots": shots}), substitute_for="gsm8k")


def _local(options: TaskOptions) -> Path | None:
    """The file or folder to read, or None for the hub. REASONGYM_DATA without gsm8k rows in it is passed over."""
    if options.data is not None:
        return Path(options.data).expanduser()
    named = os.environ.get("REASONGYM_DATA")
    folders = [Path(named).expanduser() / "gsm8k", Path(named).expanduser()] if named else []
    return next((folder for folder in folders if split_files(folder)), None)


def _by_split(path: Path) -> dict[str, list[Row]]:
    if not path.is_dir():
        rows = read_file(path)
        named = named_split(path)
        if named:
            return {named: rows}
        by_content: dict[str, list[Row]] = {"train": [], "test": []}
        for found in rows:
            by_content[content_split("gsm8k", found.question)].append(found)
        return by_content
    files = split_files(path)
    if not files:
        held = ", ".join(sorted(entry.name for entry in path.iterdir())[:8])
        raise DataError(message(f"{path} holds no GSM8K rows", got=held or "an empty folder",
                                expected="train.jsonl and test.jsonl, or the same as .parquet",
                                remedy="check the folder given as data"))
    return {split: [found for file in listed for found in read_file(file)] for split, listed in files.items()}


def _checked(loaded: Mapping[str, Iterable[Mapping[str, object]]]) -> dict[str, list[Row]]:
    return {split: [as_row(dict(value), f"{_HUB_NAME} {split} row {number}")
                    for number, value in enumerate(loaded[split], start=1)] for split in ("train", "test")}


def _from_hub() -> Mapping[str, Iterable[Mapping[str, object]]]:
    """Both splits. Raises DataError within seconds where `datasets` is not installed or the hub cannot be reached."""
    try:
        import datasets
        from huggingface_hub import constants
    except ImportError as error:
        raise _missing(f"the package {error.name} is not installed") from error
    if not constants.HF_HUB_OFFLINE and not _reachable(constants.ENDPOINT):
        raise _missing(f"the hub cannot be reached (asked for {_CONNECT_S:g} s at most)")
    try:
        loaded: Mapping[str, Iterable[Mapping[str, object]]] = datasets.load_dataset(_HUB_NAME, "main")
    except Exception as error:  # the boundary to a client that raises the exceptions of several HTTP and file libraries
        raise _missing(f"{type(error).__name__}: {str(error)[:160]}") from error
    return loaded


def _reachable(endpoint: str) -> bool:
    """Whether the address answers at all. In a thread, because a name look-up has no time-out of its own."""
    answered = threading.Event()

    def ask() -> None:
        try:
            with urllib.request.urlopen(urllib.request.Request(endpoint, method="HEAD"), timeout=_CONNECT_S):
                answered.set()
        except urllib.error.HTTPError:
            answered.set()
        except (OSError, ValueError):
            return

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_CONNECT_S)
    return answered.is_set()


def _missing(got: str) -> DataError:
    return DataError(message("the rows of gsm8k were not found", got=got,
                             expected=f"rows given as data, a folder in REASONGYM_DATA, or the hub's {_HUB_NAME}",
                             remedy="pass --data FOLDER with train.jsonl and test.jsonl; HF_HUB_OFFLINE=1 uses a copy "
                                    "in the local cache without asking the hub"))
