"""The weight transfer's own half: layout, shared memory, digests, stale segments. The whole way is in test_stack.py."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from reasongym.errors import SyncError
from reasongym.sync.layout import bucketize

torch = pytest.importorskip("torch", reason="the training stack is not installed")

from reasongym.sync.checksums import compare, digest  # noqa: E402
from reasongym.sync.shared_memory import (  # noqa: E402
    SharedMemorySender,
    _folder,
    open_segment,
    remove_stale_segments,
    view,
)


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

    @contextlib.contextmanager
    def gather(names: list[str]) -> Iterator[Mapping[str, Any]]:
        yield {name: source[name] for name in names}

    shapes = [(n, str(t.dtype).removeprefix("torch."), tuple(t.shape), t.element_size()) for n, t in source.items()]
    sender = SharedMemorySender(buckets=bucketize(shapes, 600), gather=gather, client=receiver, is_sender=True)
    yield receiver, sender, source
    sender.close()


def test_every_tensor_arrives_bit_by_bit_through_alternating_segments(sent: Any) -> None:
    receiver, sender, source = sent
    digests = sender.send(3, checksums=True)
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
    gathered, gather = [], sender.gather
    monkeypatch.setattr(sender, "gather", lambda names: gathered.append(names) or gather(names))
    monkeypatch.setattr(receiver, step, fails)
    with pytest.raises(SyncError, match="the engine is gone"):
        sender.send(1, checksums=True)
    assert gathered == [[tensor.name for tensor in bucket.tensors] for bucket in sender.buckets]
    monkeypatch.undo()
    sender.send(2, checksums=False)
    assert receiver.calls[-1] == "finish 2"


def test_a_single_changed_element_is_noticed(sent: Any) -> None:
    receiver, sender, _ = sent
    digests = sender.send(1, checksums=True)
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
    paths = [path for path, _ in sender.segments]
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
    assert all(os.path.exists(path) for path, _ in sender.segments)


def test_a_tensor_larger_than_the_bucket_gets_its_own() -> None:
    buckets = bucketize([("a", "float32", (2,), 4), ("b", "float32", (100,), 4), ("c", "float32", (2,), 4)], 64)
    assert [[t.name for t in b.tensors] for b in buckets] == [["a"], ["b"], ["c"]]
