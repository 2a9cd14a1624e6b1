"""Results of one step of a training run: of two, one stands, whoever enters them and in whatever order."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from leaderboard_samples import made_up, record
from test_leaderboard_store import address, old_store, postgres

from reasongym.leaderboard import Store, Submission, read_boards
from reasongym.leaderboard.exchange import export_results, import_results
from reasongym.leaderboard.reading import entry_of, run_key
from reasongym.leaderboard.server import Pages

__all__ = ["address", "postgres"]  # fixtures
EARLY, LATE = "2026-01-02T03:04:05+00:00", "2026-01-02T04:04:05+00:00"


def of_step(step: int, *, run_id: str = "id", created: str = EARLY, right: int = 20, verifier: str = "v1",
            name: str = "run") -> Submission:
    """A result of a step of a run, as its evaluation would make it."""
    rows = [row < right for row in range(40)]
    model = f"{name}@step-{step}"
    made = made_up(model, right=rows, created=created, verifier=verifier)
    result = record(model, rows, created=created, verifier=verifier)
    within = {"environment": {**result.environment, "run_id": run_id, "training": {"step": step}}}
    return replace(made, entry=entry_of(result.model_copy(update=within)))


def test_a_later_result_of_a_step_takes_the_place_of_an_earlier_one(address: str) -> None:
    first, again = of_step(10), of_step(10, created=LATE, right=30)
    with Store(address, create=True) as store:
        digest = store.add(first).digest
        added = store.add(again)
        assert (added.new, added.replaced) == (True, digest)
        (result,) = store.results()
        assert (result.main.mean, len(store.samples(result.id))) == (0.75, 40)
        assert store.row_means([result.id])[result.id].means.count(1.0) == 30
        assert store.add(again)._replace(digest="") == ("", False, "", "")


def test_an_earlier_result_of_a_step_does_not_come_back(address: str) -> None:
    with Store(address, create=True) as store:
        digest = store.add(of_step(10, created=LATE)).digest
        added = store.add(of_step(10, right=30))
        assert (added.new, added.replaced, added.kept) == (False, "", digest)
        assert [result.digest for result in store.results()] == [digest]


def test_of_many_that_enter_one_step_at_once_the_latest_stands(address: str) -> None:
    made = [of_step(10, created=f"2026-01-02T03:04:{second:02}+00:00", right=second) for second in range(8)]
    together = threading.Barrier(len(made))

    def enter(one: Submission) -> None:
        with Store(address, create=True) as store:
            together.wait(30)
            store.add(one)

    with ThreadPoolExecutor(len(made)) as pool:
        list(pool.map(enter, made))
    with Store(address) as store:
        (result,) = store.results()
        assert (result.digest, len(store.samples(result.id))) == (made[-1].digest, 40)


@pytest.mark.parametrize("other", [
    {"step": 20}, {"run_id": "another"}, {"name": "a copy"}, {"verifier": "v2"}])
def test_other_steps_runs_and_verifiers_stand_beside_it(tmp_path: Path, other: dict[str, object]) -> None:
    with Store(str(tmp_path / "s.db"), create=True) as store:
        store.add(of_step(10))
        assert store.add(of_step(**{"step": 10, "created": LATE} | other)).new  # type: ignore[arg-type]
        assert store.count() == 2


def test_withdrawn_are_later_steps_of_one_run_with_all_that_is_theirs(address: str) -> None:
    with Store(address, create=True) as store:
        for made in (of_step(10), of_step(20), of_step(30), of_step(30, run_id="another"), made_up()):
            store.add(made)
        assert store.withdraw(run_key("id", "run"), after=10) == 2
        assert [result.entry.model for result in store.results()] == ["run@step-10", "run@step-30", "model"]
        with store._engine.begin() as connection:
            for table in ("metrics", "scores", "samples"):
                found = connection.exec_driver_sql(f"SELECT count(DISTINCT result_id) FROM {table}").scalar()
                assert (table, found) == (table, 3)


def test_the_number_of_a_result_that_gave_way_is_not_another_s(tmp_path: Path) -> None:
    """SQLite gives the number of a deleted last row again: a page that is being written would mix the two."""
    with Store(str(tmp_path / "s.db"), create=True) as store:
        store.add(of_step(10))
        (before,) = store.results()
        store.add(of_step(10, created=LATE))
        assert store.results()[0].id != before.id


def test_an_import_takes_no_result_s_place(tmp_path: Path) -> None:
    """A run's id stands in every export: anyone could write it into a record of the same step."""
    with Store(str(tmp_path / "a.db"), create=True) as ours, Store(str(tmp_path / "b.db"), create=True) as theirs:
        digest = ours.add(of_step(10)).digest
        theirs.add(of_step(10, created=LATE, right=40))
        export_results(theirs, tmp_path / "out")
        (added,) = import_results(ours, tmp_path / "out")
        assert (added.new, added.kept) == (False, digest)
        assert [result.digest for result in ours.results()] == [digest]


def test_served_pages_show_what_took_a_result_s_place(tmp_path: Path) -> None:
    with Store(str(tmp_path / "s.db"), create=True) as store:
        store.add(of_step(10))
        pages = Pages(store, title="t")
        assert pages.boards().boards[0].lines[0].result.main.mean == 0.5
        store.add(of_step(10, created=LATE, right=30))
        assert pages.boards().boards[0].lines[0].result.main.mean == 0.75


def test_a_record_that_names_no_sound_step_is_of_no_run() -> None:
    for training in ({"step": "10"}, {"step": True}, {}, "text"):
        result = record("m", [True])
        entry = entry_of(result.model_copy(update={"environment": {"run_id": "id", "training": training}}))
        assert (entry.run, entry.step) == (None, None)


def test_boards_of_an_old_store_learn_what_tells_its_results_apart(address: str) -> None:
    old_store(address)
    with Store(address) as store:
        assert store.results()[0].entry.variant == made_up("old").entry.variant != ""
        assert len(read_boards(store).boards[0].lines) == 1
