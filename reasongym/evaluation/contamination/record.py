"""What a comparison of training rows with evaluation rows found, as a run's and a result's record keep it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["Overlap", "SideOverlap"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, use_attribute_docstrings=True)


class SideOverlap(_Record):
    """Evaluation rows of one side, prompts or answers, by what they share with a training text. One row may be counted
    under several."""

    compared: int
    """Rows with a text to compare."""
    short: int
    """Of these, rows without an n-gram of their own, most of them too short for one: compared as wholes only."""
    exact: int
    """Texts that are the same."""
    normalised: int
    """The same without case, punctuation and white space; `exact` ones included."""
    template: int
    """The same but for their numbers; those that are `normalised` are not counted here."""
    ngram: int
    """Rows that share an n-gram or more."""
    contained: int
    """Rows all of whose n-grams are in one training text."""


class Overlap(_Record):
    """Of one evaluation's rows with all training data that was named."""

    training: tuple[str, ...]
    """As named."""
    training_rows: int
    """Compared."""
    complete: bool
    """All training rows were compared; of an endless generator, or before a deadline, some are."""
    ngram_words: int
    """Words of an n-gram."""
    rows: int
    """Evaluation rows."""
    overlapping: int
    """Rows whose prompt or answer shares an n-gram with, or is `normalised` equal to, a training text. Templates are
    not counted."""
    prompts: SideOverlap
    answers: SideOverlap

    @property
    def share(self) -> float:
        """Of the rows, the overlapping ones: 0 to 1."""
        return self.overlapping / self.rows if self.rows else 0.0
