"""The results store: nothing is lost, entered twice, mixed up or refused for its characters."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from leaderboard_samples import made_up, record
from postgres_server import server_for_tests
from sqlalchemy import create_engine, text

from reasongym.errors import DataError, ResourceError, UnknownNameError
from reasongym.evaluation.record import Result
from reasongym.leaderboard import Store, Submission, read_boards
from reasongym.leaderboard.connecting import read_url, shown
from reasongym.leaderboard.entry import Sample
from reasongym.leaderboard.migrating import HEAD
from reasongym.leaderboard.models import METADATA
from reasongym.leaderboard.reading import entry_of, submission
from reasongym.leaderboard.storable import storable

WRITERS, EACH = 3, 3
HOSTILE = ("<script>alert(1)</script>", "nul\x00nul", "lone \ud800 surrogate", "\U0001f9ea \u202e \r\n\t", "'; DROP --")


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """Address of a real server."""
    with server_for_tests() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a store that is not there yet, of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "new folder" / "store.db")
    postgres: str = request.getfixturevalue("postgres")
    engine = create_engine(read_url(postgres))
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    return postgres


def enter(address: str, writer: int, together: multiprocessing.synchronize.Barrier) -> None:
    """A process of its own: opens the store, making it, and enters results; the first is the same for all."""
    together.wait(100)
    with Store(address, create=True) as store:
        store.add(made_up("the same"))
        for number in range(EACH):
            store.add(made_up(f"model {writer}.{number}"))


def test_concurrent_starters_and_writers_lose_nothing(address: str) -> None:
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(WRITERS)
    writers = [context.Process(target=enter, args=(address, number, together)) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(100)
    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    with Store(address) as store:
        results = store.results()
        assert sorted(result.entry.model for result in results) == sorted(
            ["the same", *(f"model {writer}.{number}" for writer in range(WRITERS) for number in range(EACH))])
        assert {len(store.samples(result.id)) for result in results} == {40}


def test_starters_at_the_very_same_moment_migrate_once(address: str) -> None:
    together = threading.Barrier(6)

    def start(_: int) -> int:
        together.wait(30)
        with Store(address, create=True) as store:
            return store.count()

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(start, range(6))) == [0] * 6


def test_what_comes_out_is_what_went_in(address: str) -> None:
    made = made_up("model", texts=HOSTILE)
    with Store(address, create=True) as store:
        added = store.add(made)
        result = store.find(added.digest[:8])
        back = Submission.checked(result.entry, list(result.metrics.values()), store.samples(result.id))
        assert (back.samples, back.metrics) == (made.samples, made.metrics)
        assert store.record(result.id) == made.entry.record
        assert store.samples(result.id, 38, 100) == list(made.samples[38:])
        assert store.statuses(result.id) == [sample.status for sample in made.samples]
        means = store.row_means([result.id])[result.id]
        assert dict(zip(means.rows, means.means, strict=True)) == made.row_means()


def test_text_a_database_refuses_stays_readable(address: str) -> None:
    with Store(address, create=True) as store:
        added = store.add(made_up("NUL \x00", texts=HOSTILE))
        result = store.find(added.digest)
        assert result.entry.model == r"NUL \x00"
        shown = [sample.completion for sample in store.samples(result.id, 0, len(HOSTILE))]
        assert shown == ["<script>alert(1)</script>", r"nul\x00nul", r"lone \ud800 surrogate", HOSTILE[3], HOSTILE[4]]


def test_the_same_result_enters_once(address: str) -> None:
    with Store(address, create=True) as store:
        first, again = store.add(made_up()), store.add(made_up())
        assert (first.new, again.new, first.digest == again.digest, store.count()) == (True, False, True, 1)
        assert store.add(made_up(seed=1)).new


def test_the_migrations_make_what_the_models_say(address: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    with Store(address, create=True) as store:
        with store._engine.begin() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            differences = [found for found in compare_metadata(context, METADATA)
                           if "uq" not in str(found) and "digest" not in str(found)]
        assert differences == []
    import reasongym.leaderboard.migrations as folder

    assert ScriptDirectory(str(Path(folder.__file__).parent)).get_heads() == [HEAD]


def test_a_store_of_a_newer_release_is_not_written(address: str) -> None:
    with Store(address, create=True) as store, store._engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(DataError, match="another release") as caught:
        Store(address)
    assert caught.value.exit_status == 2


def test_a_failed_entry_leaves_nothing_of_it(address: str) -> None:
    """The last sample breaks the last statement, after all others have run."""
    made = made_up(prompts=1200)
    broken = made.samples[-1]._replace(number=2**70)
    torn = Submission(entry=made.entry, metrics=made.metrics, samples=(*made.samples[:-1], broken))
    with Store(address, create=True) as store:
        with pytest.raises((DataError, ResourceError, OverflowError)):
            store.add(torn)
        assert store.count() == 0
        assert store.add(made).new


def test_reading_makes_no_store(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no store yet"):
        Store(str(tmp_path / "none.db"))
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_something_else_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no database, and longer than a header of one" * 40)
    with pytest.raises(DataError, match="is not a store"):
        Store(str(path), create=True)
    assert path.read_text().startswith("no database")


@pytest.mark.parametrize("address", ["mysql://u:hunter2@h/d", "postgresql://u:hunter2@h:port/d", "sqlite://"])
def test_an_address_of_no_kind_is_refused_without_its_password(address: str) -> None:
    with pytest.raises(DataError, match="no such store") as caught:
        Store(address)
    assert "hunter2" not in str(caught.value)


def test_a_server_that_does_not_answer_is_an_error_without_the_password() -> None:
    with pytest.raises(ResourceError, match="does not answer") as caught:
        Store("postgresql://u:hunter2@127.0.0.1:1/d")
    assert "hunter2" not in str(caught.value)
    assert shown(read_url("postgres://u:hunter2@h/d")) == "postgresql+psycopg://u:***@h/d"
    assert shown(read_url("postgres://u@h/d?password=hunter2")) == "postgresql+psycopg://u@h/d"


def test_a_digest_that_is_no_single_one_is_refused(tmp_path: Path) -> None:
    with Store(str(tmp_path / "s.db"), create=True) as store:
        store.add(made_up())
        for name in ("", "nothing"):
            with pytest.raises(UnknownNameError, match="no single result"):
                store.find(name)


def test_a_substitute_does_not_enter_under_the_name_of_the_data_set() -> None:
    with pytest.raises(DataError, match="not one on gsm8k"):
        made_up(provenance={"substitute_for": "gsm8k"})


def test_a_headline_that_its_samples_contradict_is_refused() -> None:
    wrong = made_up(right=[True] * 4 + [False] * 4)
    with pytest.raises(DataError, match="not what its samples give"):
        submission(record("model", [True] * 5 + [False] * 3), wrong.samples)


@pytest.mark.parametrize(("change", "complaint"), [
    ({"row": "1"}, "twice"), ({"status": "splendid"}, "contradicts itself"), ({"score": float("nan")}, "contradicts"),
    ({"score": None}, "contradicts"), ({"status": "wrong"}, "contradicts"), ({"status": "error"}, "contradicts")])
def test_a_sample_that_cannot_be_is_refused(change: dict[str, object], complaint: str) -> None:
    made = made_up(right=[True, True, False])
    first = Sample(**(made.samples[0]._asdict() | change))  # type: ignore[arg-type]
    with pytest.raises(DataError, match=complaint):
        Submission.checked(made.entry, made.metrics, (first, *made.samples[1:]))


@pytest.mark.parametrize("hostile", ["\x00", "a\ud800b", "\\x00", "\udcff\udcfe", "", "é\U0001f600"])
def test_storable_text_is_text_and_stays_itself(hostile: str) -> None:
    once = storable(hostile)
    assert storable(once) == once
    assert "\x00" not in once.encode("utf-8").decode("utf-8")


def test_a_count_that_no_column_holds_is_refused() -> None:
    made = made_up()
    for change in ({"prompts": 2**63}, {"tokens": -1}):
        with pytest.raises(DataError, match="counts what cannot be"):
            Submission.checked(replace(made.entry, **change), made.metrics, made.samples)


def test_a_name_in_a_message_does_not_act_on_a_terminal() -> None:
    with pytest.raises(DataError) as caught:
        made_up("\x1b]0;owned\x07", provenance={"substitute_for": "gsm8k"})
    assert r"\x1b]0;owned\x07" in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_boards_read_neither_samples_nor_records(tmp_path: Path) -> None:
    with Store(str(tmp_path / "s.db"), create=True) as store:
        store.add(made_up())
        with store._engine.begin() as connection:
            connection.execute(text("DROP TABLE samples"))
            connection.execute(text("ALTER TABLE results DROP COLUMN record"))
        assert len(read_boards(store).boards[0].lines) == 1


def test_a_table_is_shown_without_loading_what_it_does_not_need() -> None:
    """Each would cost a tenth of a second and more, of the one that a board may take."""
    script = ("import sys, reasongym.cli.leaderboard, reasongym.leaderboard.board, reasongym.leaderboard.formats; "
              "print(*sorted({'pyarrow', 'pydantic', 'alembic', 'psycopg', 'torch', 'sqlalchemy.orm'} & "
              "sys.modules.keys()))")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def old_store(address: str) -> None:
    """A store of the release before overlap and answers' digests, with one result in it."""
    from alembic import command
    from alembic.config import Config

    import reasongym.leaderboard.migrations as folder

    made = made_up("old")
    with Store(address, create=True) as store:
        store.add(made)
        with store._engine.execution_options(writes=True).begin() as connection:
            config = Config()
            config.set_main_option("script_location", str(Path(folder.__file__).parent))
            config.attributes["connection"] = connection
            command.downgrade(config, "0001")


def test_an_old_store_is_brought_up_to_date_with_what_its_results_tell(address: str) -> None:
    old_store(address)
    with Store(address) as store:
        (result,) = store.results()
        again = made_up("old")
        assert (result.answers_digest, result.entry) == (again.answers_digest, replace(again.entry, record=""))
        assert result.entry.split_rows == 40
        assert not store.add(again).new


def test_a_record_from_before_overlap_keeps_its_digest() -> None:
    """As version 0.1.0 gave it, whose records knew no overlap: its exports stay valid, its results are entered once."""
    digest = "1722da07f7f245f504b68c5ce31e53b06e9e5ba494a65021ba4698f99b65f68d"
    made = made_up("digest", right=[True, False])
    whole = json.loads(made.entry.record)
    whole["counts"]["truncated"] = 1
    whole["tokens"] |= {"completion": 40, "mean": 20.0}
    assert replace(made, entry=entry_of(Result.parse(whole, "old"), whole)).digest == digest


def killed(address: str, started: multiprocessing.synchronize.Event) -> None:
    """A process that is killed while it writes."""
    with Store(address, create=True) as store:
        started.set()
        for number in range(1000):
            store.add(made_up(f"{number}", prompts=300))


def test_a_writer_that_is_killed_leaves_whole_results_and_a_store_that_others_write(address: str) -> None:
    context = multiprocessing.get_context("spawn")
    for delay in (0.0, 0.03, 0.08):
        started = context.Event()
        writer = context.Process(target=killed, args=(address, started))
        writer.start()
        assert started.wait(100)
        time.sleep(delay)
        writer.kill()
        writer.join(30)
    with Store(address, create=True) as store:
        results = store.results()
        assert [len(store.samples(result.id)) for result in results] == [300] * len(results)
        assert store.row_means([result.id for result in results]).keys() == {result.id for result in results}
        assert store.add(made_up("after")).new


def test_readers_see_whole_results_while_others_write(address: str) -> None:
    with Store(address, create=True) as store:
        store.add(made_up("first"))
        with ThreadPoolExecutor(6) as pool:
            writing = [pool.submit(lambda number=number: store.add(made_up(f"{number}"))) for number in range(12)]
            while not all(one.done() for one in writing):
                boards = read_boards(store)
                assert all(line.result.num_samples == 40 for line in boards.boards[0].lines)
            assert all(one.result().new for one in writing)
        assert store.count() == 13


def test_a_full_disk_is_an_error_of_ours_and_the_store_stays_whole(tmp_path: Path) -> None:
    """A database of few pages stands in for the disk: SQLite then says the same, "database or disk is full"."""
    with Store(str(tmp_path / "s.db"), create=True) as store:
        store.add(made_up("first"))
        with store._engine.begin() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
        with pytest.raises(ResourceError, match="room on its disk"):
            store.add(made_up("second", prompts=1200))
        with store._engine.begin() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count=1000000")
        assert [result.entry.model for result in store.results()] == ["first"]
        assert store.add(made_up("second", prompts=1200)).new
