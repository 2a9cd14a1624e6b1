"""Where examples come from: a file, or a task's own worked solutions. Each gives the samples of a row, encoded when
they are asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from pathlib import Path

from reasongym.errors import DataError, message
from reasongym.records import Prompt
from reasongym.tasks import Task
from reasongym.training.examples.encoding import Encoder
from reasongym.training.examples.files import open_rows
from reasongym.training.examples.rows import ExampleKind, ExampleRow, columns_of, read_row
from reasongym.training.rows import Sample

__all__ = ["ExampleFile", "Examples", "TaskSolutions"]


class Examples(ABC):
    """Rows by number. rows: how many, or None without an end. name, digest: what the rows are, for the record."""

    rows: int | None
    name: str
    digest: str

    @abstractmethod
    def samples(self, row: int) -> list[Sample] | None:
        """Of a pair chosen and rejected, else the one completion; None where the row has nothing to learn from."""

    def notes(self) -> list[str]:
        """What a user should know before the run starts."""
        return []


class ExampleFile(Examples):
    """The rows of a file, all of them checked when it is opened. labels: wanted and unwanted completions.

    Raises DataError for the first row that is malformed.
    """

    def __init__(self, path: Path, kind: ExampleKind, encoder: Encoder) -> None:
        self._file, self._kind, self._encoder = open_rows(path, columns_of(kind)), kind, encoder
        self.rows, self.name, self.digest = len(self._file), str(path), self._file.digest
        self.labels: Counter[bool] = Counter()
        self._sampled = self._foreign = 0
        for index, value in enumerate(self._file.all()):
            place = self._file.place(index)
            self._check(read_row(value, place, kind), place)

    def samples(self, row: int) -> list[Sample]:
        found = read_row(self._file.row(row), self._file.place(row), self._kind)
        if found.tokenizer == self._encoder.fingerprint:  # what was sampled is what is trained
            return [Sample(prompt_ids=found.prompt_ids, token_ids=answer.token_ids, mask=answer.mask,
                           desirable=found.desirable) for answer in found.answers]
        assert found.messages is not None
        prompt = self._encoder.prompt(found.messages)
        return [_written(self._encoder, prompt, answer.text, ended=answer.ended, desirable=found.desirable)
                for answer in found.answers]

    def notes(self) -> list[str]:
        found = [f"{self.name}: {self.rows} rows, {self._sampled} of them as token ids"] if self._sampled else []
        if self._foreign:
            found.append(f"{self._foreign} rows have the token ids of another tokenizer: their text is encoded anew")
        return found

    def _check(self, row: ExampleRow, place: str) -> None:
        self.labels[row.desirable] += 1
        if row.tokenizer == self._encoder.fingerprint:
            self._sampled += 1
            largest = max(row.prompt_ids + tuple(token for answer in row.answers for token in answer.token_ids))
            if largest >= self._encoder.vocabulary:
                raise DataError(message(f"{place} has a token that the model has not", got=largest,
                                        expected=f"ids below {self._encoder.vocabulary}", remedy="leave the row out"))
            return
        self._foreign += row.tokenizer is not None
        if row.messages is None:
            raise DataError(message(f"{place} has token ids of another tokenizer, and no prompt to encode anew",
                                    got="no `prompt`", expected="the model that sampled the answers, or a prompt",
                                    remedy="run `reasongym pairs` where the run's task can be opened"))
        self._encoder.check_messages(row.messages, place)
        for answer in row.answers:
            self._encoder.check_text(answer.text, place)


class TaskSolutions(Examples):
    """The worked solutions of a task's split; rows without one are passed over."""

    def __init__(self, task: Task, split: str, encoder: Encoder, *, seed: int) -> None:
        self._task, self._split, self._encoder, self._seed = task, split, encoder, seed
        self.rows = task.size(split)
        self.name, self.digest = f"solutions of {task.name}/{split}", task.provenance()["fingerprint"]

    def samples(self, row: int) -> list[Sample] | None:
        example = self._task.example(self._split, row, seed=self._seed)
        if not (example.solution or "").strip():
            return None
        prompt = self._encoder.prompt(example.messages)
        return [_written(self._encoder, prompt, example.solution or "", ended=True)]


def _written(encoder: Encoder, prompt: Prompt, text: str, *, ended: bool, desirable: bool = False) -> Sample:
    ids = encoder.answer(prompt, text, ended=ended)
    return Sample(prompt_ids=prompt.token_ids, token_ids=ids, mask=(True,) * len(ids), desirable=desirable)
