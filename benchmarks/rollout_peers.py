"""Sampling through our engine pool, beside bare `vllm.LLM.generate` and beside `generate` of transformers.

    ours          EnginePool with one engine actor on Ray, as a run of the recipe `cpu` starts it
    vllm          the same engine arguments, environment, prompts, sampling and seeds, without pool, actor and Ray
    transformers  one padded batch, keys and values cached, the same number format and OpenMP

The embedded model at temperature 1, groups of 8 answers to a prompt of 120 tokens, 64 and 256 answers at one time. An
answer is as long as it is told, so that all sample as many tokens: `tail`, 24 to 120 with a mean of 59.6, or `even`, 64
tokens each; end-of-text is ignored. Each side has a process of its own, one after another in memory, in alternating
turns; a figure is the median of a side's turns. Loading and a warm-up are not counted. same_answers: share of our
answers that are token by token those of bare vLLM; a sum in another order may turn a token. overhead: CPU seconds
outside vLLM's core, a thousand tokens: on two cores they are taken from it.
SIDES="ours vllm" leaves the third out and COUNTS=64 the 256; LENGTHS="tail even" takes both, TURNS=3 more turns.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor

from benchmarks.rollout_sides import EVEN, LONG_TAIL, SIDES, Turn, environment, turns, work
from reasongym.rollout.engine import actor_environment

COUNTS = tuple(map(int, os.environ.get("COUNTS", "64 256").split()))
LENGTHS = {name: lengths for name, lengths in {"even": EVEN, "tail": LONG_TAIL}.items()
           if name in os.environ.get("LENGTHS", "tail").split()}
TURNS = int(os.environ.get("TURNS", "1"))
SLOW = ("transformers",)  # one turn: its distance is far above what turns differ
DEADLINE_S = 1200.0


def measure() -> dict[str, float]:
    """Tokens a second of each, ratios, and what ours spends beside sampling."""
    sides = os.environ.get("SIDES", " ".join(SIDES)).split()
    found: dict[tuple[str, str], list[Turn]] = {}
    for turn in range(TURNS):
        for side in sides if turn % 2 == 0 else reversed(sides):
            if side in SLOW and turn:
                continue
            for case, one in one_process(side, turn).items():
                found.setdefault((side, case), []).append(one)
                print(f"{side:>13} {case:>8}: {_rate(one):7.1f} tokens/s, {one.core_s:6.1f} s in the core, "
                      f"{one.other_s:6.1f} s outside", flush=True)
    return figures(found)


def one_process(side: str, turn: int) -> dict[str, Turn]:
    """One turn of each case, in a new process."""
    cases = {f"{name}_{count}": work(count, lengths, turn) for count in COUNTS for name, lengths in LENGTHS.items()}
    context = multiprocessing.get_context("spawn")
    # The others give it to their engine alone. Of a process that has Intel's OpenMP and used it, every child that is
    # forked is bound to the first core.
    variables = actor_environment("cpu") if side == "transformers" else {}
    with environment(variables), ProcessPoolExecutor(1, mp_context=context) as process:
        done = process.submit(turns, side, list(cases.values())).result(DEADLINE_S)
    return dict(zip(cases, done, strict=True))


def figures(found: Mapping[tuple[str, str], list[Turn]]) -> dict[str, float]:
    """Of all turns."""
    rates = {key: statistics.median(map(_rate, turns_)) for key, turns_ in found.items()}
    made = {f"{case}_{side}_tokens_per_second": rate for (side, case), rate in rates.items()}
    for (side, case), rate in rates.items():
        if side != "ours" and ("ours", case) in rates:
            made[f"{case}_ours_over_{side}"] = rates["ours", case] / rate
        if side != "transformers":
            made[f"{case}_{side}_overhead"] = statistics.median(
                1000 * one.other_s / _tokens(one) for one in found[side, case])
        if side == "vllm" and ("ours", case) in rates:
            pairs = [pair for ours, bare in zip(found["ours", case], found["vllm", case], strict=True)
                     for pair in zip(ours.answers, bare.answers, strict=True)]
            made[f"{case}_same_answers"] = sum(ours == bare for ours, bare in pairs) / len(pairs)
    return made


def _tokens(turn: Turn) -> int:
    return sum(map(len, turn.answers))


def _rate(turn: Turn) -> float:
    return _tokens(turn) / turn.seconds
