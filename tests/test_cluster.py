"""Ray before anything is started with it: addresses, what machines must have and have in common, the head's watch. Real
raylets are in `test_raylets`."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray", reason="the training stack is not installed")

from reasongym.config import load_config
from reasongym.errors import ResourceError, TrainerError
from reasongym.planning import Hardware, plan
from reasongym.training import cluster, group, machines, reserving
from reasongym.training.head import Head
from reasongym.training.reserving import Machine, fits, needs

pytestmark = pytest.mark.stack


@pytest.mark.parametrize("prefix", ["", "ray://"])
def test_an_address_where_nothing_listens_is_said_at_once(prefix: str) -> None:
    """Ray tries for minutes, and says so in lines of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"{prefix}127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(ResourceError, match=rf"(?s)no Ray cluster answers.*{address}"):
            cluster._check_reachable(address)


def test_an_address_that_ray_finds_itself_is_left_to_it() -> None:
    cluster._check_reachable("auto")


def test_an_address_for_clients_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        cluster._check_reachable(address)
        with pytest.raises(ResourceError, match=r"(?s)on a machine of its cluster.*--ray-address HOST:PORT"):
            cluster._check_reachable(f"ray://{address}")


def test_a_token_that_is_missing_is_told_from_a_cluster_that_is() -> None:
    told = cluster._unreachable("10.0.0.1:6379", "Failed to connect to GCS.\nAuthenticationError: InvalidAuthToken")
    assert "does not take this machine's token" in told
    assert "RAY_AUTH_MODE=token" in told
    assert "Ray cannot be reached" in cluster._unreachable("auto", "no cluster\nof Ray")
    assert "Ray does not start" in cluster._unreachable(None, "")


def needed(*overrides: str, hardware: str = "cpu 2 cores 24GB") -> list[dict[str, float]]:
    config = load_config(overrides=("model.path=x", *overrides))
    return list(needs(plan(config, Hardware.described(hardware), None)).values())


def test_what_is_reserved_is_what_the_plan_puts_on_each_machine() -> None:
    assert needed("trainer.ranks=3", "resources.nodes=2") == [{"CPU": 2}, {"CPU": 1}]  # 2 ranks and an engine, 2 cores
    assert needed("trainer.ranks=8", "rollout.engines=4", "resources.nodes=2", hardware="8x H100 80GB") == [
        {"GPU": 8, "CPU": 1}, {"GPU": 4, "CPU": 1}]


def test_a_machine_of_several_labels_needs_them_all() -> None:
    found = needed("resources.trainer_label=fast", "rollout.engines=[{count: 1, label: cheap}]")
    assert [bundle.keys() for bundle in found] == [{"CPU", "fast", "cheap"}]


@pytest.mark.parametrize(("bundles", "there", "fit"), [
    ([{"GPU": 8}], [{"GPU": 4}, {"GPU": 4}], False),  # one bundle is never two machines
    ([{"GPU": 4}, {"GPU": 4}], [{"GPU": 8}], False),  # and two bundles never one
    ([{"CPU": 1}, {"CPU": 1, "fast": 0.001}], [{"CPU": 2, "fast": 1}, {"CPU": 2}], True),  # the first one moves over
    ([{"CPU": 1, "fast": 0.001}, {"CPU": 1, "fast": 0.001}], [{"CPU": 2, "fast": 1}, {"CPU": 2}], False),
])
def test_each_bundle_is_counted_on_a_machine_of_its_own(bundles: Any, there: Any, fit: bool) -> None:
    assert fits(bundles, there) == fit


def test_a_refusal_says_what_is_lacking_where() -> None:
    here = Machine("10.0.0.1", {"CPU": 2.0, "GPU": 8.0, "fast": 1.0}, {"CPU": 2.0, "GPU": 3.0, "fast": 1.0})
    bundles = [{"GPU": 8.0, "CPU": 1.0, "fast": 0.001}] * 2
    few = reserving._lacking(bundles, [here])
    assert "the cluster does not have the machines\n" in few
    assert "10.0.0.1 with 3 of 8 GPU free, 2 of 2 CPU free, 1 of 1 fast free" in few
    assert "2 machines with 8 GPU, 1 CPU, the label fast" in few
    other = Machine("10.0.0.2", {"CPU": 2.0, "GPU": 8.0}, {})
    assert "10.0.0.2 with 0 of 8 GPU free, 0 of 2 CPU free, no fast" in reserving._lacking(bundles, [here, other])
    busy = reserving._lacking(bundles[:1], [here])
    assert "does not have the machines free" in busy
    assert "who holds" in busy


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> machines.Found:
    monkeypatch.setattr(machines.ray.util, "get_node_ip_address", lambda: "10.0.0.2")
    return machines.look([])


def test_a_machine_with_other_packages_or_sources_is_refused(found: machines.Found, tmp_path: Path) -> None:
    assert machines.differences(found, found, tmp_path) is None
    assert found.versions["torch"] != "none"
    assert len(found.versions[machines.SOURCES]) == 12
    other = found._replace(versions=found.versions | {"torch": "1.0"})
    what, got, _ = machines.differences(found, other, tmp_path) or ("", "", "")
    assert "different packages" in what
    assert got == f"torch: {found.versions['torch']} here, 1.0 on 10.0.0.2"


def test_a_machine_without_the_runs_folder_or_the_model_is_refused(found: machines.Found, tmp_path: Path) -> None:
    """Training would go on until the first checkpoint, and lose it."""
    with machines._mark(tmp_path) as mark:
        assert machines.look([str(mark)]).unseen == ()
        unseen = found._replace(unseen=(str(mark),))
        assert "the run's folder" in (machines.differences(found, unseen, tmp_path) or ("",))[0]
        elsewhere = found._replace(unseen=("/models/large",))
        assert "no /models/large on 10.0.0.2" in (machines.differences(found, elsewhere, tmp_path) or ("", ""))[1]
    assert list(tmp_path.iterdir()) == []


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_head_that_is_gone_is_said_and_one_that_comes_back_in_time_is_not() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    address = server.getsockname()
    with Head(f"127.0.0.1:{address[1]}", every_s=0.02, patience_s=2.0) as head:
        server.close()
        time.sleep(0.1)
        server = socket.create_server(address)
        server.settimeout(60)
        server.accept()[0].close()  # it was asked again
        head.check()
        server.close()
        until(lambda: head.gone)
        with pytest.raises(TrainerError, match=r"(?s)head of the Ray cluster is gone.*--resume"):
            head.check()
        head.unless_gone(lambda: pytest.fail("nobody answers"))


def test_without_an_address_nothing_is_watched() -> None:
    called = []
    with Head("") as head:
        head.check()
        head.unless_gone(lambda: called.append(True))
    assert called


class StandInRay:
    """Answers never come; each wait takes no time."""

    exceptions = cluster.ray.exceptions

    def __init__(self) -> None:
        self.waits: list[float] = []

    def get(self, answers: Any, timeout: float) -> None:
        self.waits.append(timeout)
        raise self.exceptions.GetTimeoutError("not yet")


def no_ranks(team_size: int = 1, watch: Callable[[], None] = lambda: None) -> group.RankGroup:
    settings: Any = SimpleNamespace(zero=SimpleNamespace(device="cpu"), team_size=team_size)
    return group.RankGroup(group.ZeroRank, settings, [], start_timeout_s=3600, step_timeout_s=3600, watch=watch)


def test_a_wait_for_ranks_ends_when_the_head_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call has an hour, and a driver without a head is ended after a minute."""
    def gone() -> None:
        if len(stand_in.waits) == 3:
            raise TrainerError("gone")

    stand_in, ranks = StandInRay(), no_ranks(watch=gone)
    monkeypatch.setattr(group, "ray", stand_in)
    with pytest.raises(TrainerError, match="gone"):
        ranks.call("train")
    assert stand_in.waits == [group.WATCH_EVERY_S] * 3


def test_a_wait_for_ranks_has_its_own_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = no_ranks()
    monkeypatch.setattr(group, "ray", StandInRay())
    with pytest.raises(TrainerError, match="did not train in time"):
        ranks.call("train", timeout_s=0.05)


def test_a_team_is_given_work_as_one_and_answers_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, str]] = []

    def rank(index: int) -> Any:
        return SimpleNamespace(train=SimpleNamespace(remote=lambda part: asked.append((index, part)) or index))

    ranks = no_ranks(team_size=2)
    ranks.ranks = [rank(index) for index in range(4)]
    monkeypatch.setattr(ranks, "_wait", lambda answers, *_: answers)
    assert ranks.scatter("train", [("a",), ("b",)]) == [0, 2]
    assert asked == [(0, "a"), (1, "a"), (2, "b"), (3, "b")]
