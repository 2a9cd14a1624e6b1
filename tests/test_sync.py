"""The weight transfer's own half: layout, shared memory, digests, stale segments. The whole way is in test_stack.py."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from reasongym.errors import ResourceError, SyncError
from reasongym.sync.layout import bucketize

torch = pytest.importorskip("torch", reason="the training stack is not installed")

from reasongym.sync.checksums import ALL, Columns, compare, digest, in_turn  # noqa: E402
from reasongym.sync.ranks import Ranks  # noqa: E402
from reasongym.sync.shared_memory import (  # noqa: E402
    Share,
    SharedMemorySender,
    _folder,
    open_segment,
    remove_stale_segments,
    view,
)
from reasongym.training.zero import even_share  # noqa: E402


class Receiver:
    """Stands for the engines: keeps what it is sent, as vLLM's calls come."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.tensors: dict[str, Any] = {}

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
        self.calls.append("init")

    def start_weight_update(self) -> None:
        self.calls.append("start")

    def update_weights(self, update_info: Any) -> None:
        segment = open_segment(update_info["path"], update_info["nbytes"])
        self.tensors |= {t["name"]: view(segment, t).clone() for t in update_info["tensors"]}
        self.calls.append("update")

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        self.calls.append(f"finish {weight_version}")


def weights() -> dict[str, Any]:
    torch.manual_seed(0)
    return {"embed": torch.randn(40, 3), "half": torch.randn(7).bfloat16(), "norm": torch.ones(5),
            "big": torch.randn(300)}


@pytest.fixture
def sent() -> Iterator[tuple[Receiver, SharedMemorySender, dict[str, Any]]]:
    source, receiver = weights(), Receiver()

    sender = make_sender(source, receiver, Ranks(0, 1))
    yield receiver, sender, source
    sender.close()


def make_sender(source: dict[str, Any], receiver: Receiver, ranks: Any) -> SharedMemorySender:
    @contextlib.contextmanager
    def shares(names: list[str], *, whole: bool) -> Iterator[Mapping[str, Share]]:
        yield {name: Share(*even_share(source[name], rank=ranks.rank, world=1 if whole else ranks.world))
               for name in names}

    shapes = [(n, str(t.dtype).removeprefix("torch."), tuple(t.shape), t.element_size()) for n, t in source.items()]
    return SharedMemorySender(buckets=bucketize(shapes, 600), shares=shares, client=receiver, ranks=ranks)


def test_every_tensor_arrives_bit_by_bit_through_alternating_segments(sent: Any) -> None:
    receiver, sender, source = sent
    digests = sender.send(3, checksums=ALL)
    assert len(sender.buckets) == 2  # 40 x 3 x 4 = 480 bytes, 14 (padded to 64), 20 | 1,200
    assert receiver.calls == ["init", "start", "update", "update", "finish 3"]
    assert {n: digest(t) for n, t in receiver.tensors.items()} == digests == {n: digest(t) for n, t in source.items()}


@pytest.mark.parametrize("step", ["start_weight_update", "update_weights", "finish_weight_update"])
def test_a_transfer_that_fails_gathers_all_buckets_before_it_says_so(sent: Any, monkeypatch: pytest.MonkeyPatch,
                                                                     step: str) -> None:
    """Gathering is a collective: the other ranks would wait for the one that speaks to the engines."""
    def fails(*_: Any) -> None:
        raise SyncError("the engine is gone")

    receiver, sender, _ = sent
    gathered, shares = [], sender.shares
    monkeypatch.setattr(sender, "shares", lambda names, whole: gathered.append(names) or shares(names, whole=whole))
    monkeypatch.setattr(receiver, step, fails)
    with pytest.raises(SyncError, match="the engine is gone"):
        sender.send(1, checksums=ALL)
    assert gathered == [[tensor.name for tensor in bucket.tensors] for bucket in sender.buckets]
    monkeypatch.undo()
    sender.send(2, checksums=None)
    assert receiver.calls[-1] == "finish 2"


class Threads:
    """Ranks that are threads of one process."""

    def __init__(self, rank: int, meeting: threading.Barrier, said: dict[str, Any], visible: bool,
                 machine: str = "") -> None:
        self.rank, self.world, self.first, self.machine = rank, meeting.parties, rank == 0, machine
        self.meeting, self.said, self.visible = meeting, said, visible

    def barrier(self) -> None:
        self.meeting.wait(60)

    def from_first(self, value: Any) -> Any:
        if self.first:
            self.said["value"] = value
        self.barrier()
        value = self.said["value"]
        self.barrier()
        return value

    def all_agree(self, here: bool) -> bool:
        self.said[f"agrees {self.rank}"] = here and (self.visible or self.first)
        self.barrier()
        return all(self.said[f"agrees {rank}"] for rank in range(self.world))


@pytest.mark.parametrize(("visible", "machines"), [(True, "aaa"), (False, "aaa"), (True, "aab")],
                         ids=["one machine", "a path that is not there", "a path that is there, on another machine"])
def test_ranks_write_their_own_parts_and_rank_0_all_where_one_is_elsewhere(visible: bool, machines: str) -> None:
    """Raylets of one test share /dev/shm, and so may containers: the path alone does not say."""
    source, receiver, meeting, said = weights(), Receiver(), threading.Barrier(3), dict[str, Any]()

    def rank(index: int) -> tuple[bool, int, dict[str, str]]:
        sender = make_sender(source, receiver, Threads(index, meeting, said, visible, machines[index]))
        digests = sender.send(5, checksums=ALL)
        meeting.wait(60)
        sender.close()
        return sender.whole, index, digests

    with ThreadPoolExecutor(3) as threads:
        answers = list(threads.map(rank, range(3)))
    assert [whole for whole, _, _ in answers] == [not visible or machines != "aaa"] * 3
    assert [bool(digests) for _, _, digests in answers] == [True, False, False]
    assert {n: digest(t) for n, t in receiver.tensors.items()} == {n: digest(t) for n, t in source.items()}
    assert receiver.calls == ["init", "start", "update", "update", "finish 5"]


def test_every_rank_hears_that_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that did not would wait for the others' collectives until their deadline."""
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    meeting, said = threading.Barrier(2), dict[str, Any]()

    def rank(index: int) -> str:
        with pytest.raises(ResourceError) as caught:
            make_sender(weights(), Receiver(), Threads(index, meeting, said, True))
        return str(caught.value)

    with ThreadPoolExecutor(2) as threads:
        assert all("no room for the weight transfer" in said for said in threads.map(rank, range(2)))


def test_a_single_changed_element_is_noticed(sent: Any) -> None:
    receiver, sender, _ = sent
    digests = sender.send(1, checksums=ALL)
    receiver.tensors["norm"][2] += 1e-6
    with pytest.raises(SyncError, match=r"(?s)version 1.*1 of 4 tensors differ: norm"):
        compare(digests, {n: digest(t) for n, t in receiver.tensors.items()}, engine=0, version=1)


def test_a_tensor_the_engine_lacks_is_noticed() -> None:
    with pytest.raises(SyncError, match="absent"):
        compare({"a": "1", "b": "2"}, {"a": "1"}, engine=0, version=1)


def test_tensors_only_the_engine_has_are_no_error() -> None:
    compare({"a": "1"}, {"a": "1", "lm_head.weight": "1"}, engine=0, version=1)


def test_close_leaves_nothing_in_shared_memory(sent: Any) -> None:
    _, sender, _ = sent
    paths = list(sender.paths)
    assert all(os.path.exists(path) for path in paths)
    sender.close()
    assert not any(os.path.exists(path) for path in paths)


def test_what_a_killed_run_left_is_removed_and_what_a_living_one_holds_is_not() -> None:
    dead, living = (_folder() / f"reasongym-weights-{name}{os.getpid()}" for name in ("dead", "held"))
    try:
        dead.write_bytes(b"x")
        with living.open("wb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            remove_stale_segments()
            assert not dead.exists()
            assert living.exists()
    finally:
        dead.unlink(missing_ok=True)
        living.unlink(missing_ok=True)


def test_a_second_sender_leaves_the_first_ones_segments_alone(sent: Any) -> None:
    _, sender, _ = sent
    remove_stale_segments()
    assert all(os.path.exists(path) for path in sender.paths)


def test_a_tensor_larger_than_the_bucket_gets_its_own() -> None:
    buckets = bucketize([("a", "float32", (2,), 4), ("b", "float32", (100,), 4), ("c", "float32", (2,), 4)], 64)
    assert [[t.name for t in b.tensors] for b in buckets] == [["a"], ["b"], ["c"]]


@pytest.mark.parametrize("width", [1, 3, 8, 13, 576])
def test_eight_comparisons_see_every_column_once_and_narrow_tensors_whole(width: int) -> None:
    matrix = torch.arange(2 * width).view(2, width)
    parts = [in_turn(number).cut(matrix) for number in range(20, 28)]
    if width < 8:  # a part of them would be empty, and empty parts are always equal
        assert all(torch.equal(part, matrix) for part in parts)
    else:
        assert sorted(torch.cat(parts, dim=1).flatten().tolist()) == list(range(2 * width))
    assert all(torch.equal(in_turn(number).cut(vector), vector) for number in (0, 3) for vector in (torch.ones(5),))


def test_only_the_columns_in_turn_are_digested_and_all_by_default(sent: Any) -> None:
    _, sender, source = sent
    for columns in (Columns(3, 8), ALL):
        found = sender.send(1, checksums=columns)
        assert found == {name: digest(columns.cut(tensor)) for name, tensor in source.items()}
    assert sender.send(2, checksums=None) == {}


def test_buckets_are_as_few_as_they_can_be_and_as_even() -> None:
    parameters = [(str(number), "float32", (16,), 4) for number in range(10)]  # 64 bytes each
    assert [len(bucket.tensors) for bucket in bucketize(parameters, 8 * 64)] == [5, 5]
    assert [len(bucket.tensors) for bucket in bucketize(parameters, 4 * 64)] == [4, 4, 2]
    assert [bucket.nbytes for bucket in bucketize([*parameters, ("head", "float32", (160,), 4)], 640)] == [640, 640]
    assert bucketize([], 64) == []
