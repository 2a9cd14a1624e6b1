"""Pairs, labelled completions and solutions from a file, or a task's own solutions, batch by batch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reasongym.algorithms import ALGORITHMS, kto
from reasongym.config import RunConfig
from reasongym.config.preference import KtoConfig, OfflineConfig
from reasongym.errors import ConfigError, DataError, message
from reasongym.rollout.walk import Walk
from reasongym.tasks import Task, row_random
from reasongym.training.examples.encoding import Encoder
from reasongym.training.examples.sources import ExampleFile, Examples, TaskSolutions
from reasongym.training.rows import Sample

__all__ = ["OfflineSource", "offline_source"]

WITH_SOLUTIONS = ("arithmetic", "code_synth", "gsm8k", "math_files", "mbpp", "word_problems")


class OfflineSource(Walk[list[Sample]]):
    """An endless, repeatable walk over examples; `position` is its whole state.

    batch_size: rows of a step. max_prompt_tokens, max_new_tokens: longer rows are passed over and counted. mixed: rows
    of an optimizer step that must be of two prompts at least, as KTO's reference point asks; 0 where they need not be.
    notes: what a user should know before the run starts. provenance: for its record.
    """

    def __init__(self, examples: Examples, *, seed: int, batch_size: int, max_prompt_tokens: int,
                 max_new_tokens: int, mixed: int = 0) -> None:
        super().__init__(examples.rows, lambda epoch: row_random("examples", "", seed, epoch, salt="order"))
        self.without_answer = 0
        self.notes, self.batch_size = examples.notes(), batch_size
        self._examples, self._mixed = examples, mixed
        self._max_prompt_tokens, self._max_new_tokens = max_prompt_tokens, max_new_tokens
        self._longest = self._told = (0, 0)

    @property
    def provenance(self) -> Mapping[str, str]:
        rows = "endless" if self.rows is None else str(self.rows)
        return {"source": self._examples.name, "rows": rows, "fingerprint": self._examples.digest}

    def take(self, count: int) -> list[list[Sample]]:
        """The samples of the next `count` rows: of a pair [chosen, rejected], else [completion].

        Raises DataError when none can be used, and when all are of one prompt where they must not be.
        """
        size = self._mixed or count
        return [row for _ in range(count // size) for row in self._step(size)]

    def read(self, row: int) -> list[Sample] | None:
        """The samples of a row, or None where it has no answer or one that is too long."""
        samples = self._examples.samples(row)
        if samples is None:
            self.without_answer += 1
            return None
        self._longest = len(samples[0].prompt_ids), max(len(sample.token_ids) for sample in samples)
        if self._longest[0] <= self._max_prompt_tokens and self._longest[1] <= self._max_new_tokens:
            return samples
        self.too_long += 1
        return None

    def passed_over(self) -> str:
        """What was passed over since this was last asked, or an empty text."""
        too_long, without_answer = self.too_long - self._told[0], self.without_answer - self._told[1]
        self._told = self.too_long, self.without_answer
        reasons = [f"{too_long} rows of more than rollout.max_prompt_tokens={self._max_prompt_tokens} or "
                   f"max_new_tokens={self._max_new_tokens} tokens" if too_long else "",
                   f"{without_answer} rows without a solution" if without_answer else ""]
        found = " and ".join(filter(None, reasons))
        return f"passed over: {found}" if found else ""

    def nothing_left(self) -> DataError:
        if self.without_answer and not self.too_long:
            return DataError(message(f"there are no {self._examples.name}",
                                     got=f"{self.without_answer} rows without one",
                                     expected=f"a task with worked solutions, such as {', '.join(WITH_SOLUTIONS)}",
                                     remedy="choose such a task, or give a file of your own as algorithm.data"))
        prompt, answer = self._longest
        return DataError(message(f"{self._examples.name}: every row is too long",
                                 got=f"{prompt} tokens of prompt and {answer} of answer in the last one",
                                 expected=f"at most rollout.max_prompt_tokens={self._max_prompt_tokens} and "
                                          f"rollout.max_new_tokens={self._max_new_tokens}",
                                 remedy="raise the limit that is passed"))

    def rehearse(self, count: int) -> None:
        """`take(count)` without a trace: what is wrong with the rows shows before anything is started."""
        before = self.position, self.too_long, self.without_answer
        self.take(count)
        self.position, self.too_long, self.without_answer = before

    def _step(self, count: int) -> list[list[Sample]]:
        """`count` rows; where they must be of two prompts and are of one, the last gives way to the next of another."""
        found = super().take(count)
        for _ in range(2 * (self.rows or 1)):
            if not self._mixed or len({row[0].prompt_ids for row in found}) > 1:
                return found
            found[-1:] = super().take(1)
        raise DataError(message(f"{self._examples.name} has completions of one prompt only",
                                got="the same prompt in every usable row",
                                expected="at least two prompts: kto compares with completions of another",
                                remedy="add rows of other prompts"))


def offline_source(config: RunConfig, task: Task, tokenizer: Any) -> OfflineSource | None:
    """The configured source, or None for an algorithm that samples. What is wrong with its data is a DataError here."""
    algorithm = config.algorithm
    if not isinstance(algorithm, OfflineConfig):
        return None
    encoder = Encoder(tokenizer)
    mixed, notes = 0, list[str]()
    examples: Examples
    if algorithm.data is None:
        examples = TaskSolutions(task, config.task.split, encoder, seed=config.seed)
    else:
        examples = ExampleFile(Path(algorithm.data).expanduser(), ALGORITHMS[algorithm.name].ABOUT.kind, encoder)
        if isinstance(algorithm, KtoConfig):
            mixed, notes = _rows_of_a_step(config, algorithm), _balance(algorithm, examples)
    source = OfflineSource(examples, seed=config.seed, batch_size=algorithm.batch_size, mixed=mixed,
                           max_prompt_tokens=config.rollout.max_prompt_tokens,
                           max_new_tokens=config.rollout.max_new_tokens)
    source.notes += notes
    source.rehearse(mixed or 1)
    return source


def _rows_of_a_step(config: RunConfig, algorithm: KtoConfig) -> int:
    """Rows of an optimizer step, which must be two at least, of prompts that differ."""
    rows = algorithm.batch_size // config.trainer.mini_batches
    if rows < 2:
        raise ConfigError(message("kto's reference point needs completions of two prompts in every optimizer step",
                                  got=f"algorithm.batch_size={algorithm.batch_size} in "
                                      f"trainer.mini_batches={config.trainer.mini_batches}",
                                  expected="at least 2 completions a step", remedy="raise algorithm.batch_size"))
    return rows


def _balance(algorithm: KtoConfig, examples: ExampleFile) -> list[str]:
    wanted, unwanted = examples.labels[True], examples.labels[False]
    found = kto.balance(num_desirable=wanted, num_undesirable=unwanted, desirable_weight=algorithm.desirable_weight,
                        undesirable_weight=algorithm.undesirable_weight)
    if found.level:
        return []
    return [f"warning: {wanted} wanted and {unwanted} unwanted completions weigh {found.ratio:.3g} to 1; the paper has "
            "1 to 4/3. Set algorithm.desirable_weight or algorithm.undesirable_weight"]
