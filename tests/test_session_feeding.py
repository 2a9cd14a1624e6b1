"""Weights from the ranks to engines that come and go: nobody is fed over a way that leads elsewhere, or unchecked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch", reason="the training stack is not installed")

from reasongym.config import load_config
from reasongym.errors import SyncError, TrainerError
from reasongym.rollout.present import Present
from reasongym.sync.checksums import ALL, in_turn
from reasongym.training.session import Session

pytestmark = pytest.mark.stack


class Ranks:
    """Writes down what it is told; `connect` fails for handles that are in `unreachable`."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.unreachable: set[str] = set()

    def call(self, method: str, *arguments: Any) -> list[Any]:
        self.calls.append((method, *arguments))
        if method == "connect" and self.unreachable & set(arguments[1]):
            raise TrainerError("an engine did not open the transfer in time")
        return [{"weight": "digest"}]


class Engines:
    """Handles are texts; `wide` ones are spread over two GPUs. The weights of `damaged` ones are others."""

    def __init__(self, *, wide: str = "", damaged: str = "") -> None:
        self.wide, self.damaged, self.served = wide, damaged, list[str]()
        self.asked_for_checksums: list[str] = []
        self.columns: list[Any] = []

    def told_of(self, handles: list[str]) -> list[Present]:
        return [Present(int(name[1:]), "", 1 + (name == self.wide), "serving", 0, 3) for name in handles]

    def call(self, method: str, *arguments: Any, handles: list[str]) -> list[Any]:
        if method == "checksums":
            self.asked_for_checksums += handles
            self.columns += arguments
            return [{"weight": "other" if name == self.damaged else "digest"} for name in handles]
        return [0.0] * len(handles)

    def serve(self, handles: list[str], version: int) -> None:
        self.served += handles


def session_of(engines: Engines, verify: str = "first") -> Any:
    found = SimpleNamespace(config=load_config(overrides=[f"sync.verify={verify}"]), engines=engines, ranks=Ranks(),
                            plan=SimpleNamespace(transport="shared_memory", shares_gpus=False), connected=[],
                            num_compared=0, weight_bytes=1, ahead=None, version=4)
    found._compared = lambda: Session._compared(found)
    found.push = lambda *handles, version=4: Session._push(found, list(handles), version)
    found.connects = lambda: [call[2] for call in found.ranks.calls if call[0] == "connect"]
    return found


def test_after_newcomers_were_fed_apart_the_way_to_all_is_opened_anew() -> None:
    session = session_of(Engines())
    session.push("e0", "e1")
    session.push("e0", "e1")
    session.push("e2")
    session.push("e0", "e1", "e2")
    session.push("e0", "e1", "e2")
    assert session.connects() == [["e0", "e1"], ["e2"], ["e0", "e1", "e2"]]


def test_after_a_way_could_not_be_opened_the_earlier_one_is_not_taken_for_open() -> None:
    session = session_of(Engines())
    session.push("e0")
    session.ranks.unreachable = {"e1"}
    with pytest.raises(TrainerError):
        session.push("e1")
    session.push("e0")
    assert session.connects() == [["e0"], ["e1"], ["e0"]]


def test_the_first_weights_of_every_engine_are_checked_and_it_does_not_serve_before() -> None:
    engines = Engines(damaged="e2")
    session = session_of(engines)
    session.push("e0", "e1")
    session.push("e0", "e1")
    assert engines.asked_for_checksums == ["e0", "e1"]
    with pytest.raises(SyncError, match="engine 2"):
        session.push("e2")
    assert "e2" not in engines.served


def test_an_engine_over_several_gpus_is_not_compared_and_others_go_by_their_own_numbers() -> None:
    engines = Engines(wide="e1", damaged="e3")
    session = session_of(engines, "always")
    with pytest.raises(SyncError, match="engine 3"):
        session.push("e0", "e1", "e3")
    assert engines.asked_for_checksums == ["e0", "e3"]
    assert session.ranks.calls[0][:4] == ("connect", "shared_memory", ["e0", "e1", "e3"], [1, 2, 1])


@pytest.mark.parametrize("between", [1, 8, 10])
def test_weights_are_checked_whole_at_first_and_then_part_by_part_whatever_their_versions(between: int) -> None:
    engines = Engines()
    session = session_of(engines, "in_turn")
    for version in range(4, 4 + 9 * between, between):
        session.push("e0", version=version)
    asked = [call[2] for call in session.ranks.calls if call[0] == "send_weights"]
    assert asked == engines.columns
    assert asked[0] == ALL
    assert sorted(asked[1:]) == [in_turn(number) for number in range(8)]  # eight more transfers see every column
    session.push("e0", "e1", version=200)
    assert engines.columns[-1] == ALL  # somebody is new
