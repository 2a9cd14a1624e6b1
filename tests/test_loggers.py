"""Loggers: what reaches a service, and that none can stop or slow a run.

mlflow and trackio cannot be installed beside the pinned stack. Where they are installed (the extras `mlflow` and
`trackio`, without `train`), their tests run too.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from sample_runs import group, rollout

from reasongym.cli import cli
from reasongym.errors import ConfigError, UnknownNameError
from reasongym.tracking import METRICS, MetricsLog, RunFolder
from reasongym.tracking.loggers import LOGGERS, Loggers, RunInfo, check_loggers, courier, known
from reasongym.tracking.loggers.messages import flat

STAND_IN = """
import json, os, time
from pathlib import Path

class Logger:
    def __init__(self, run):
        self.note = "look here"
        self.file = Path(run.folder) / "got.jsonl"
        self.keep("start", run.name, dict(run.config))
        BEGIN
    def keep(self, *what):
        with self.file.open("a") as file:
            file.write(json.dumps(what) + "\\n")
    def row(self, step, time_, values):
        ROW
        self.keep("row", step, values)
    def table(self, step, table):
        self.keep("table", step, table.columns, table.rows)
    def finish(self, outcome):
        FINISH
        self.keep("finish", outcome)
"""
BOOT = ("import json, sys; sys.path[:] = json.loads(sys.argv[1]); from reasongym.tracking.loggers import known; "
        "known.LOGGERS['fake'] = known.Known('stand_in', (), ''); from reasongym.tracking.loggers.child import main; "
        "main('fake', int(sys.argv[3]))")

Fake = Callable[..., Loggers]


@pytest.fixture
def told() -> list[str]:
    """What a person would have read."""
    return []


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: list[str]) -> Fake:
    """Loggers with a service whose calls do as they are told."""
    def make(*, begin: str = "pass", row: str = "pass", finish: str = "pass", timeout_s: float = 30.0) -> Loggers:
        source = STAND_IN.replace("BEGIN", begin).replace("ROW", row).replace("FINISH", finish)
        (tmp_path / "stand_in.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(courier, "BOOT", BOOT)
        return Loggers(["tensorboard", "fake"], info(tmp_path), timeout_s=timeout_s, answers=2, tell=told.append)
    return make


def info(folder: Path, **changes: Any) -> RunInfo:
    config = {"task": {"name": "arithmetic"}, "model": {"path": "tiny"}, "algorithm": {"name": "grpo"}, "steps": 3}
    return RunInfo(name="my-run", folder=str(folder), config=config, **changes)


def row(step: int, **values: float | None) -> dict[str, Any]:
    return {"step": step, "time": 1.8e9 + step, **{name.replace("_", "/", 1): value for name, value in values.items()}}


def got(folder: Path) -> list[list[Any]]:
    path = folder / "got.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)


def is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_service_gets_every_row_in_order_some_answers_and_how_the_run_ended(
        fake: Fake, tmp_path: Path, told: list[str]) -> None:
    with fake() as loggers:
        for step in (1, 2):
            loggers.row(row(step, reward_mean=step / 4, train_loss=None))
        loggers.answers(2, [group(rollout(text="a" * 5000), rollout(seed=1)), group(rollout(index=9, text="\ud800"))])
    start, first, second, table, finish = got(tmp_path)
    assert start == ["start", "my-run", dict(info(tmp_path).config)]
    assert [first, second] == [["row", 1, {"reward/mean": 0.25, "train/loss": None}],
                               ["row", 2, {"reward/mean": 0.5, "train/loss": None}]]
    assert [one[2] for one in table[3]] == [0, 9]  # two of three: the first of each prompt
    assert len(table[3][0][4]) < 2100
    assert table[3][1][4] == "\\ud800"  # no service's database takes the lone surrogate itself
    assert finish == ["finish", "finished"]
    assert told == ["logger fake: look here"]


@pytest.mark.parametrize(("error", "outcome"), [(ValueError(), "failed"), (KeyboardInterrupt(), "stopped")])
def test_a_run_that_fails_is_not_shown_as_finished(fake: Fake, tmp_path: Path, error: BaseException,
                                                   outcome: str) -> None:
    with pytest.raises(type(error)), fake():
        raise error
    assert got(tmp_path)[-1] == ["finish", outcome]


def test_a_row_that_fails_is_counted_and_told_once_and_the_next_arrive(
        fake: Fake, tmp_path: Path, told: list[str]) -> None:
    with fake(row="assert step not in (2, 3), 'no room'") as loggers:
        for step in range(1, 6):
            loggers.row(row(step))
    assert [one[1] for one in got(tmp_path) if one[0] == "row"] == [1, 4, 5]
    warnings = [line for line in told if "warning" in line]
    assert len(warnings) == 1
    assert "AssertionError: no room" in warnings[0]
    assert "2 of 5 rows did not arrive" in told[-1]


def test_a_service_that_cannot_be_reached_leaves_the_run_alone(fake: Fake, told: list[str]) -> None:
    with fake(begin="raise OSError('connection refused')") as loggers:
        loggers.row(row(1))
    assert ["connection refused" in line for line in told].count(True) == 1
    assert "1 of 1 rows did not arrive" in told[-1]


def test_a_service_that_hangs_costs_no_step_and_is_killed(fake: Fake, tmp_path: Path, told: list[str]) -> None:
    loggers = fake(begin="self.keep(os.getpid())", row="time.sleep(600)", timeout_s=3.0)
    wait_until(lambda: not loggers._couriers[0]._words.empty())  # it has started, and its note comes first
    began = time.monotonic()
    for step in range(courier.CAPACITY + 500):
        loggers.row(row(step))
    assert time.monotonic() - began < 2.0
    loggers.close("finished")
    assert time.monotonic() - began < 20.0
    assert is_gone(got(tmp_path)[1][0])
    assert f"{courier.CAPACITY} rows wait for it" in told[-2]  # no more of them are held in memory
    assert f"{courier.CAPACITY + 500} of {courier.CAPACITY + 500} rows did not arrive" in told[-1]


def test_a_slow_service_holds_the_end_of_a_run_no_longer_than_the_time_out(
        fake: Fake, tmp_path: Path, told: list[str]) -> None:
    loggers = fake(begin="self.keep(os.getpid())", row="time.sleep(0.2)", timeout_s=3.0)
    wait_until(lambda: len(got(tmp_path)) == 2)
    for step in range(60):  # each in time, all together not
        loggers.row(row(step))
    began = time.monotonic()
    loggers.close("finished")
    assert time.monotonic() - began < 20.0
    assert is_gone(got(tmp_path)[1][0])
    assert any("did not end in time, 3 s" in line for line in told)


def test_a_service_that_hangs_in_its_last_call_is_left_behind(fake: Fake, tmp_path: Path, told: list[str]) -> None:
    loggers = fake(finish="self.keep(os.getpid()); time.sleep(600)", timeout_s=3.0)
    wait_until(lambda: bool(got(tmp_path)))
    loggers.close("finished")
    assert is_gone(got(tmp_path)[1][0])
    assert "warning" in told[-1]


def test_a_process_that_dies_is_told_and_its_rows_are_counted(fake: Fake, told: list[str]) -> None:
    with fake(row="os._exit(3)") as loggers:
        loggers.row(row(1))
        loggers.row(row(2))
    assert "2 of 2 rows did not arrive" in told[-1]
    assert any("its process has ended" in line for line in told)


def test_what_a_service_prints_is_in_a_file_and_not_in_its_answers(fake: Fake, tmp_path: Path) -> None:
    with fake(row="print('hello', flush=True)") as loggers:
        loggers.row(row(1))
    assert (tmp_path / "loggers/fake.log").read_text() == "hello\n"
    assert got(tmp_path)[-2][0] == "row"


def test_a_run_that_is_killed_is_ended_as_failed(fake: Fake, tmp_path: Path) -> None:
    fake().close("finished")  # writes the stand-in
    (tmp_path / "got.jsonl").unlink()
    script = textwrap.dedent(f"""
        import os, signal, time
        from pathlib import Path
        from reasongym.tracking.loggers import Loggers, RunInfo, courier
        courier.BOOT = {BOOT!r}
        loggers = Loggers(["fake"], RunInfo(name="r", folder={str(tmp_path)!r}, config={{}}), timeout_s=30, tell=print)
        loggers.row({{"step": 1, "time": 1.0, "a": 1.0}})
        got = Path({str(tmp_path / "got.jsonl")!r})
        while not (got.exists() and "row" in got.read_text()):
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run([sys.executable, "-c", script], env=environment, timeout=100, check=False)
    assert done.returncode == -signal.SIGKILL
    wait_until(lambda: got(tmp_path)[-1] == ["finish", "failed"])


def test_a_package_that_is_missing_is_named_before_the_run_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known.importlib.util, "find_spec", lambda name: None)
    for name in LOGGERS:
        with pytest.raises(ConfigError, match=rf"pip install 'reasongym\[{name}\]'"):
            check_loggers(["tensorboard", name])
    check_loggers(["tensorboard"])


def test_an_unknown_logger_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'wandb'"):
        check_loggers(["wandbb"])


def test_options_add_a_logger_and_set_the_evaluations(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import reasongym.planning

    planned: list[Any] = []
    monkeypatch.setattr(reasongym.planning, "plan", lambda config, *_: planned.append(config) or
                        SimpleNamespace(describe=lambda: ""))
    monkeypatch.setattr(reasongym.planning, "shape_of", lambda path: None)
    arguments = ["train", "--dry-run", "--hardware", "1x H100 80GB", "--logger", "prometheus", "--eval-every", "7"]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    assert planned[0].tracking.loggers == ("tensorboard", "prometheus")
    assert planned[0].evaluation.every == 7


def test_a_full_disk_under_tensorboard_does_not_end_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                            told: list[str]) -> None:
    class Full:
        def __init__(self, **_: object) -> None:
            raise OSError("No space left on device")

    monkeypatch.setattr(MetricsLog, "_import_writer", lambda self: Full)
    onward: list[Any] = []
    log = MetricsLog(RunFolder(tmp_path / "run"), tensorboard=True, onward=onward.append, tell=told.append)
    for step in (1, 2):
        log.write(step, {"a": 1.0})
    log.close()
    assert [one["step"] for one in log.read()] == [one["step"] for one in onward] == [1, 2]
    assert len(told) == 1
    assert "No space left" in told[0]


def test_a_disk_that_fills_up_under_tensorboards_own_thread_is_one_line_and_no_traceback(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="no tensorboard here: pip install tensorboard")
    script = """
import sys, threading
from pathlib import Path
from tensorboard.summary.writer.record_writer import RecordWriter
from reasongym.tracking import MetricsLog, RunFolder

def full(*_):
    raise OSError(28, "No space left on device")

log = MetricsLog(RunFolder(Path(sys.argv[1])), tensorboard=True, tell=print)
log.write(1, {"a": 1.0})
RecordWriter.write = full
for step in (2, 3):
    log.write(step, {"a": 1.0})
log.close()
threading.Thread(target=lambda: 1 / 0).start()
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "run")], capture_output=True, text=True,
                          check=True, timeout=100)
    assert len(done.stdout.splitlines()) == 1
    # TensorBoard's thread says that a row is done with just before it says what it failed by: maybe the next row hears.
    assert re.search(r"end before step [23]: \[Errno 28\] No space left", done.stdout)
    assert done.stderr.count("Traceback") == 1, "of the thread that is not TensorBoard's"
    assert "ZeroDivisionError" in done.stderr


def test_settings_are_named_as_set_names_them() -> None:
    assert dict(flat({"a": {"b": {"c": 1}, "d": {}}, "e": [1]})) == {"a.b.c": 1, "a.d": {}, "e": [1]}


def test_the_dashboard_asks_for_gauges_that_a_run_serves(repo_root: Path) -> None:
    pytest.importorskip("prometheus_client", reason="no prometheus_client here: pip install 'reasongym[prometheus]'")
    from reasongym.tracking.loggers.to_prometheus import gauge_name

    dashboard = json.loads((repo_root / "docs/grafana-dashboard.json").read_text())
    asked = {name for panel in dashboard["panels"] for target in panel["targets"]
             for name in re.findall(r"reasongym_\w+", target["expr"])}
    served = {gauge_name(name) for name in METRICS} | {"reasongym_step", "reasongym_last_row_timestamp_seconds"}
    assert len(asked) > 8
    assert asked <= served
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


# --- the services themselves ---


@pytest.fixture
def session(tmp_path: Path, told: list[str]) -> Callable[..., None]:
    """A session of the run in one service: steps, the way it ends."""
    def play(name: str, steps: range, outcome: Any = "finished") -> None:
        loggers = Loggers([name], info(tmp_path), timeout_s=250.0, answers=2, tell=told.append)
        for step in steps:
            loggers.row(row(step, reward_mean=step / 8, train_loss=None))
        loggers.answers(steps[-1], [group(rollout())])
        loggers.close(outcome)
        assert not [line for line in told if "warning" in line], told
    return play


def test_prometheus_shows_the_newest_values_under_the_metrics_own_names(tmp_path: Path, told: list[str]) -> None:
    pytest.importorskip("prometheus_client", reason="no prometheus_client here: pip install 'reasongym[prometheus]'")
    loggers = Loggers(["prometheus"], info(tmp_path, prometheus_port=0), timeout_s=30.0, tell=told.append)
    for step in (1, 2):
        loggers.row(row(step, reward_mean=step / 8, train_loss=None))
        loggers.row({**row(step), "reward/a-b": 1.0, "reward/a_b": 0.0})

    def scraped() -> str:
        loggers.answers(0, [])
        loggers._pass_on(loggers._couriers[0])
        if not told:
            return ""
        with urllib.request.urlopen(told[0].split()[-1], timeout=60) as answer:
            return str(answer.read().decode())

    wait_until(lambda: 'reasongym_step{run="my-run"} 2.0' in scraped())
    text = scraped()
    loggers.close("finished")
    for line in ('reasongym_reward_mean{metric="reward/mean",run="my-run"} 0.25',
                 'reasongym_train_loss{metric="train/loss",run="my-run"} NaN',
                 'reasongym_reward_a_b{metric="reward/a-b",run="my-run"} 1.0',  # the same gauge as reward/a_b
                 'reasongym_reward_a_b{metric="reward/a_b",run="my-run"} 0.0',
                 'reasongym_last_row_timestamp_seconds{run="my-run"} 1.800000002e+09',
                 'reasongym_run_info{algorithm="grpo",model="tiny",run="my-run",task="arithmetic"} 1.0',
                 f"# HELP reasongym_reward_mean {METRICS['reward/mean'].definition}"):
        assert line in text.splitlines()
    assert told[0].startswith("logger prometheus: http://127.0.0.1:")
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(told[0].split()[-1], timeout=10)


@pytest.mark.timeout(600)  # its start alone takes a minute where other work holds the machine
def test_wandb_offline_goes_on_in_the_same_run(tmp_path: Path, session: Callable[..., None], told: list[str],
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="no wandb here: pip install 'reasongym[wandb]'")
    monkeypatch.setenv("WANDB_MODE", "offline")
    session("wandb", range(1, 4), "stopped")
    session("wandb", range(3, 5))
    folders = sorted((tmp_path / "wandb").glob("offline-run-*"))
    ids = {folder.name.rpartition("-")[2] for folder in folders}
    assert (len(folders), ids) == (2, {json.loads((tmp_path / "loggers/wandb.json").read_text())["id"]})
    first, second = (b"".join(file.read_bytes() for file in folder.glob("*.wandb")) for folder in folders)
    for written in (b"reward/mean", b"arithmetic", b"my-run", b"answers"):
        assert written in first
    assert b"0.5" in second  # step 4
    assert "wandb sync" in told[0]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of SQLAlchemy, in the client that reads here
def test_mlflow_keeps_numbers_settings_answers_and_the_end_in_one_run(
        tmp_path: Path, session: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="mlflow cannot be installed beside the pinned stack")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/ml.db")
    monkeypatch.chdir(tmp_path)
    session("mlflow", range(1, 4), "failed")
    client = mlflow.MlflowClient(f"sqlite:///{tmp_path}/ml.db")
    experiment = client.get_experiment_by_name("reasongym")
    (found,) = client.search_runs([experiment.experiment_id])
    assert (found.info.status, found.info.run_name) == ("FAILED", "my-run")
    session("mlflow", range(3, 5))
    (found,) = client.search_runs([experiment.experiment_id])
    assert found.info.status == "FINISHED"
    assert found.data.params["task.name"] == "arithmetic"
    history = client.get_metric_history(found.info.run_id, "reward/mean")
    assert [(one.step, one.value) for one in history] == [(1, 0.125), (2, 0.25), (3, 0.375), (4, 0.5)]  # 3 alike
    names = {artifact.path for artifact in client.list_artifacts(found.info.run_id, "answers")}
    assert names == {"answers/step-000003.json", "answers/step-000004.json"}


def test_trackio_keeps_one_run_through_a_resume(tmp_path: Path, session: Callable[..., None],
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("trackio", reason="trackio cannot be installed beside the pinned stack")
    import sqlite3

    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    session("trackio", range(1, 4), "failed")
    session("trackio", range(3, 5))
    with sqlite3.connect(tmp_path / "trackio/reasongym.db") as database:
        rows = database.execute("select run_name, step, metrics from metrics order by id").fetchall()
    assert {name for name, _, _ in rows} == {"my-run"}
    steps = [step for _, step, metrics in rows if b"reward/mean" in str(metrics).encode()]
    assert steps == [1, 2, 3, 3, 4]
