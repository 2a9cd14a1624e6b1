"""The workers that judge an evaluation's answers, and a record of what they loaded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reasongym.config.sections import ScoringConfig
from reasongym.errors import DataError, ScoringError, message
from reasongym.evaluation.fingerprints import verifier_fingerprint
from reasongym.evaluation.record import PartRecord
from reasongym.scoring import ScoringPool
from reasongym.tasks import RewardPart

__all__ = ["Judges", "open_judges"]


class Judges(NamedTuple):
    """records: of each part, with the fingerprint of its verifier as the workers loaded it."""

    pool: ScoringPool
    records: tuple[PartRecord, ...]

    def check_unchanged(self) -> None:
        """Raises ScoringError where a worker was replaced and a verifier's source is another than at the beginning:
        nobody knows which answers were judged by which."""
        if not self.pool.num_replaced:
            return
        for record in self.records:
            if _fingerprint(record.verifier) != record.fingerprint:
                raise ScoringError(message(f"the verifier {record.verifier} was changed while it judged",
                                           got=f"{self.pool.num_replaced} workers that were started anew meanwhile",
                                           expected="one source for all answers",
                                           remedy="judge again: the answers are kept"))


@contextlib.contextmanager
def open_judges(parts: Sequence[RewardPart], limits: ScoringConfig) -> Iterator[Judges]:
    """Workers for `parts`; their verifiers' sources are read before and after they load them.

    Raises DataError where a source changes meanwhile or cannot be read, and what ScoringPool raises.
    """
    records = _records(parts)
    with ScoringPool.configured(parts, limits) as pool:
        for before, after in zip(records, _records(parts), strict=True):
            if before != after:
                raise DataError(message(f"the verifier {before.verifier} was changed while its workers started",
                                        got="another source than a moment before", expected="a file that stays",
                                        remedy="begin again when it is written"))
        yield Judges(pool, records)


def _records(parts: Sequence[RewardPart]) -> tuple[PartRecord, ...]:
    return tuple(PartRecord(name=part.name, verifier=part.verifier, weight=part.weight,
                            fingerprint=_fingerprint(part.verifier)) for part in parts)


def _fingerprint(verifier: str) -> str:
    try:
        return verifier_fingerprint(verifier)
    except (OSError, SyntaxError) as error:  # deleted, or half written, since it was imported here
        raise DataError(message(f"the source of the verifier {verifier} cannot be read", got=f"{error}",
                                expected="the file that it was loaded from", remedy="put it back")) from error
