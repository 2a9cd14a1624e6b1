"""The generators of the package reasoning-gym as tasks: `rg:chain_sum`, `rg:sudoku`, and so on, by their names there.

Needs `pip install "reasongym[procedural]"`. Settings: `partial`, true or false (the default), whether an answer that
the package scores between 0 and 1 counts in part; any other setting is one of the generator's own, except `seed` and
`size`. Every row is drawn from a data set of one row whose seed is a hash of (task, split, seed, index), since the
package's own rows, seeded by `seed + index`, are those of the next seed shifted by one. The question decides the split,
1 in 8 for test; a long answer does, for the same problem comes in many words, ciphers, or with other cells left out;
where a row takes seconds, its seed does. A space of questions too small for both splits is a DataError.

What is scored, and what to know of single generators: `reasoning_gym_scoring` and docs/verifiers/reasoning_gym.md.
"""

from __future__ import annotations

import dataclasses
import io
import random
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stdout
from tempfile import TemporaryDirectory
from typing import Any

from reasongym.errors import ConfigError, DataError, UnknownNameError, message, nearest
from reasongym.tasks.base import Example, Message, RewardPart, Task, TaskOptions, content_split, describes, row_random
from reasongym.tasks.endless import EndlessTask
from reasongym.tasks.settings import check_names, refuse_data
from reasongym.tasks.tagged_json import to_tagged

__all__ = ["ReasoningGym", "named"]

_DRAWS = 200
"""A split holds 1/8 of a space at least about: missing it this often by chance has probability (7/8)^200 < 3e-12."""

_SEEDS = 2**32  # more than NumPy's generators take, which some of the package's generators use
_OURS = ("partial",)
_SPLIT_BY_ANSWER = frozenset({"caesar_cipher", "emoji_mystery", "jugs", "letter_jumble", "sentence_reordering"})
"""The same sentence comes under many ciphers, the same puzzle in many stories, also where it is short."""

_LONG = 20
"""Characters of an answer that is of one problem alone: a grid with other cells left out is the same problem."""

_ONE_OF_SEVERAL = frozenset({"codeio", "countdown", "knight_swap", "puzzle24", "word_ladder"})
"""Generators whose gold answer is one of several, and another one for the same question: their question decides. What
codeio's programs print may follow the order of Python's sets, which is another one in each process."""

_SPLIT_BY_SEED = frozenset({"futoshiki"})
"""1 to 7 seconds a draw, and 8 draws a test row; two seeds hardly ever give the same board."""

_READS_FILES = frozenset({"arc_agi", "codeio", "figlet_font", "group_anagrams", "n_queens", "rearc", "rush_hour",
                          "spell_backward"})
"""Up to 2 seconds to make, nothing for a row, which depends on `seed + index` and on what was read: made once."""

_INSTRUCTION = "Reason first. Then give the final answer alone between <answer> and </answer>."
REMEDY = 'install it: pip install "reasongym[procedural]"'


class ReasoningGym(EndlessTask):
    """Rows of one generator."""

    name = "rg:<name>"
    description = "Any of the 105 puzzle generators of the package reasoning-gym, by its name there."
    rewards = (RewardPart(name="correct", verifier="reasoning_gym", weight=1.0),)

    def __init__(self, generator: str, options: TaskOptions) -> None:
        """Raises UnknownNameError, and ConfigError for settings it does not have and where the package is missing."""
        self.name = f"rg:{generator}"
        refuse_data(self.name, options.data)
        self._generator = generator
        self._partial = _checked_partial(self.name, options.settings.get("partial", False))
        self._config = {key: value for key, value in options.settings.items() if key not in _OURS}
        known = _settings_of(generator)
        check_names(self.name, options.settings, {*known, *_OURS} - {"seed", "size"})
        self._made: Any = None
        self._draw(0)  # a setting that the generator refuses is said here
        self.description = f"The generator {generator} of reasoning-gym."

    def make_example(self, split: str, index: int, seed: int) -> Example:
        rng = row_random(self.name, split, seed, index)
        for _ in range(_DRAWS):
            drawn = rng.randrange(_SEEDS)
            if self._generator in _SPLIT_BY_SEED and content_split(self.name, str(drawn)) != split:
                continue
            entry = self._draw(drawn)
            if self._generator not in _SPLIT_BY_SEED and content_split(self.name, self._content(entry)) != split:
                continue
            if self._is_usable(entry, drawn):
                return self._as_example(entry, split, index)
        raise DataError(message(f"task {self.name} has no question in split {split!r}",
                                got=f"none in {_DRAWS} draws, with settings {self._config or 'as they are by default'}",
                                expected="a space of questions large enough for both splits",
                                remedy="widen the generator's settings, or use the other split"))

    def provenance(self) -> Mapping[str, str]:
        from importlib.metadata import version

        made = f"reasoning-gym {version('reasoning-gym')}, {self._generator}, {sorted(self._config.items())}"
        return {"source": f"generator {made}", "fingerprint": made}

    def _is_usable(self, entry: Mapping[str, Any], seed: int) -> bool:
        """Not where SymPy found no integral, where a program failed, or where it gives another result each time.

        Nor where several boards complete a puzzle of n_queens: it would be one problem with rows of both splits.
        """
        if self._generator == "n_queens":
            return len(entry["metadata"]["valid_answers"]) == 1
        if self._generator == "codeio":
            return entry["answer"] != "{}" and self._draw(seed) == entry
        return "Integral(" not in str(entry["answer"])

    def _content(self, entry: Mapping[str, Any]) -> str:
        """What decides the split: the answer where it tells of the problem, else the question."""
        answer = "" if entry["answer"] is None or self._generator in _ONE_OF_SEVERAL else str(entry["answer"])
        told = " ".join(unicodedata.normalize("NFKC", answer).casefold().split())
        return told if len(told) >= _LONG or self._generator in _SPLIT_BY_ANSWER else str(entry["question"])

    def _draw(self, seed: int) -> dict[str, Any]:
        package = _package()
        try:
            with _own_state(seed), _own_folder(self._generator):
                if self._generator in _READS_FILES:
                    self._made = self._made or package.create_dataset(self._generator, seed=0, size=_SEEDS,
                                                                      **self._config)
                    entry: dict[str, Any] = self._made[seed]
                else:
                    entry = package.create_dataset(self._generator, seed=seed, size=1, **self._config)[0]
        except Exception as error:  # the boundary to a package that refuses settings with exceptions of every kind
            raise ConfigError(message(f"task {self.name} cannot make a row", got=f"{type(error).__name__}: {error}",
                                      expected=f"settings that {self._generator} accepts, got {self._config or 'none'}",
                                      remedy="correct task.settings")) from error
        return entry

    def _as_example(self, entry: dict[str, Any], split: str, index: int) -> Example:
        answer = entry["answer"]
        try:
            fields = {"generator": self._generator, "config": to_tagged(self._config), "entry": to_tagged(entry),
                      "partial": self._partial}
        except ValueError as error:
            raise DataError(message(f"a row of {self.name} cannot be handed to its scorer", got=str(error),
                                    expected="texts, numbers and what holds them",
                                    remedy="use another task")) from error
        prompt: Message = {"role": "user", "content": f"{entry['question']}\n\n{_INSTRUCTION}"}
        return Example(task=self.name, split=split, index=index, messages=(prompt,), reference=answer, fields=fields,
                       solution=None if answer is None else f"<answer>{answer}</answer>")


@contextmanager
def _own_state(seed: int) -> Iterator[None]:
    """Generators, and codeio's programs, draw from the state that `random` and NumPy keep, and some print."""
    numpy: Any = sys.modules.get("numpy")  # the package has loaded it, where it uses it
    before, arrays = random.getstate(), numpy and numpy.random.get_state()
    random.seed(seed)
    if numpy:
        numpy.random.seed(seed)
    try:
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        random.setstate(before)
        if numpy:
            numpy.random.set_state(arrays)


@contextmanager
def _own_folder(generator: str) -> Iterator[None]:
    """The programs of codeio's data set write files, by names of their own."""
    if generator != "codeio":
        yield
        return
    with TemporaryDirectory(prefix="reasongym-codeio-") as folder, chdir(folder):
        yield


@describes(ReasoningGym)
def named(generator: str) -> Callable[[TaskOptions], Task]:
    """What makes the task of that generator."""
    return lambda options: ReasoningGym(generator, options)


def _checked_partial(task: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ConfigError(message(f"task {task}: setting 'partial' is not one it can use", got=repr(value),
                              expected="true or false", remedy="for example partial: true"))


def _settings_of(generator: str) -> list[str]:
    """Names of the generator's settings."""
    known: dict[str, Any] = _package().factory.DATASETS
    if generator not in known:
        raise UnknownNameError(message(f"reasoning-gym has no generator {generator!r}.{nearest(generator, known)}",
                                       got=f"rg:{generator}", expected=f"rg: and one of {', '.join(sorted(known))}",
                                       remedy="correct the name"))
    if generator == "composite":
        raise UnknownNameError(message("reasoning-gym's composite is no generator of its own", got="rg:composite",
                                       expected="one generator a task", remedy="name the generators one by one"))
    return [field.name for field in dataclasses.fields(known[generator][1])]


def _package() -> Any:
    try:
        import reasoning_gym
        import reasoning_gym.factory
    except ImportError as error:
        raise ConfigError(message("the tasks rg:... need the package reasoning-gym", got=f"no module {error.name}",
                                  expected="reasoning-gym 0.1.20 or newer", remedy=REMEDY)) from error
    return reasoning_gym
