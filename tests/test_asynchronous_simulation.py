"""The simulation of asynchronous runs: engines as fast as their rates say, and the project's own rules in charge."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="the training stack is not installed")

from benchmarks import asynchronous_simulation as simulation
from benchmarks.simulated_engine import DecodeRate, SimulatedEngine
from benchmarks.simulated_run import Deaths, Figures, Setup, SimulatedRun
from reasongym.records import Prompt
from reasongym.rollout.requests import EngineSettings, Request
from reasongym.tasks import Example

pytestmark = pytest.mark.stack

SETUP = Setup(engines=3, bound=1, batch=4, decode=DecodeRate(0.01, 1e-6), most_open=4, prompt_tokens=100,
              train_s=lambda lengths: 1e-3 * sum(map(sum, lengths)), transfer_s=0.5)


def request(length: int, *, prompt: int = 100) -> Request:
    example = Example(task="t", split="train", index=0, messages=(), reference="")
    return Request(key=(0, 0), prompt=Prompt(example=example, text="", token_ids=(0,) * prompt), max_new_tokens=length,
                   temperature=1.0, seed=0)


def engine_of(most_open: int = 8) -> SimulatedEngine:
    settings = EngineSettings(model="", dtype="", device="", max_tokens=0, max_num_seqs=most_open)
    return SimulatedEngine(settings, DecodeRate(0.01, 1e-6))


def lengths(seed: int = 0) -> Iterator[list[int]]:
    draw = random.Random(seed)
    while True:
        yield [min(2000, 1 + round(draw.lognormvariate(5, 1))) for _ in range(2)]


def run(setup: Setup, *, steps: int = 30, seed: int = 0) -> Figures:
    return SimulatedRun(setup, lengths(seed), group_size=2).run(steps, warm_up=5)


def test_an_answer_takes_a_decode_step_a_token_and_its_context_slows_each_step() -> None:
    engine = engine_of()
    engine.ask(request(1000))
    # 1,000 steps of 0.01 s, and 1e-6 s for each token held: 100 of the prompt, and 0 to 1,000 of the answer
    assert engine.next_end() == pytest.approx(1000 * 0.01 + 1e-6 * (1000 * 100 + 1000**2 / 2))


def test_answers_that_come_and_go_end_when_step_by_step_decoding_ends_them() -> None:
    draw = random.Random(1)
    arrivals = sorted((draw.uniform(0, 20), draw.randrange(50, 900)) for _ in range(12))
    engine, ends, coming = engine_of(most_open=5), [], list(arrivals)
    while coming or engine.load:
        now = min(engine.next_end(), coming[0][0] if coming else float("inf"))
        engine.advance(now)
        ends += [now] * len(engine.ended())
        while coming and coming[0][0] <= now:
            engine.ask(request(coming.pop(0)[1]))
    assert ends == pytest.approx(step_by_step(arrivals, most_open=5), abs=0.03)  # a step takes 0.01 s and more


def step_by_step(arrivals: list[tuple[float, int]], *, most_open: int) -> list[float]:
    now, opened, waiting, ends = 0.0, list[list[int]](), list(arrivals), list[float]()
    while waiting or opened:
        while waiting and waiting[0][0] <= now and len(opened) < most_open:
            opened.append([100, waiting.pop(0)[1]])
        now += 0.01 + 1e-6 * sum(held for held, _ in opened) if opened else 0.001
        opened = [[held + 1, left - 1] for held, left in opened]
        ends += [now for _, left in opened if left == 0]
        opened = [entry for entry in opened if entry[1]]
    return ends


def test_nothing_is_sampled_in_a_transfer_and_what_was_held_begins_after_it() -> None:
    engine = engine_of()
    engine.ask(request(100))
    engine.advance(0.5)
    engine.paused, engine.accepting = True, False
    engine.ask(request(10))
    engine.advance(10.0)
    assert engine.next_end() == float("inf")
    engine.resume(10.0)
    assert engine.next_end() < 10.2, "the short answer begins now"
    assert engine.busy_s == 0.5


@pytest.mark.parametrize("drain", [False, True])
@pytest.mark.parametrize("bound", [0, 1, 2, 4])
def test_no_group_is_trained_on_beyond_its_bound_and_all_are(bound: int, drain: bool) -> None:
    found = run(replace(SETUP, bound=bound, drain=drain))
    assert max(found.staleness) <= bound
    assert sum(found.staleness.values()) == 25 * SETUP.batch


def test_engines_that_die_delay_a_run_and_lose_no_group() -> None:
    deaths = Deaths(mean_s=30.0, restart_s=10.0, seed=1)
    found, sound = (run(replace(SETUP, bound=2, deaths=some), steps=200) for some in (deaths, None))
    assert found.deaths > 20
    assert max(found.staleness) <= 2
    assert sum(found.staleness.values()) == 195 * SETUP.batch
    assert found.step_s > sound.step_s


def test_ranks_and_engines_that_take_turns_are_idle_for_each_other() -> None:
    found = run(replace(SETUP, bound=0))
    assert found.staleness == {0: 25 * SETUP.batch}
    assert found.engine_idle + found.rank_idle > 1, "never both at work"
    faster = run(SETUP)
    assert faster.step_s < found.step_s
    assert faster.engine_idle < found.engine_idle


def test_a_run_is_the_same_for_a_seed_and_another_for_another() -> None:
    assert run(SETUP) == run(SETUP)
    assert run(SETUP) != run(SETUP, seed=1)


def test_draining_waits_for_the_longest_answer() -> None:
    assert run(replace(SETUP, drain=True)).step_s > run(SETUP).step_s


def test_every_split_that_is_tried_has_room_and_uses_all_gpus() -> None:
    found = simulation.splits(8)
    assert simulation.Split(1, 7) not in found, "one rank does not hold 7B parameters with their optimizer"
    assert simulation.Split(4, 4) in found
    assert all(split.shared or split.ranks + split.engines == 8 for split in found)
