"""What asynchronous sampling gains on 8 to 512 GPUs, in simulated time, against the best synchronous run on as many.

Answers of Qwen2.5-7B-Instruct on H100 80GB (SXM), 256 prompts x 16 answers a step on any number of GPUs. Ranks and
engines are divided in every way, in eighths, that `reasongym.planning` finds room for, and the fastest is taken, for
synchronous and for asynchronous runs apart. Rates are not measured here but taken from what is published:

    HBM_BYTES_S, FLOP_S    NVIDIA's data sheet of the H100 SXM: 3.35 TB/s, 989 TFLOP/s in bfloat16 without sparsity
    HBM_SHARE, DECODE_S    assumed: one answer alone then gets 130 tokens/s, 192 of 4,500 tokens 7,300 tokens/s
    MFU                    FSDP of Llama 3.1 8B on 8 to 128 H100: 33 % to 39 % (torchtitan, docs/performance.md)
    LINK_BYTES_S           half of the 400 Gbit/s that each GPU of those machines has
    lengths                assumed: lognormal, median 3,000 tokens, sigma 0.9, cut at 16,384 (3 % of the answers)

Left out: reading prompts, verdicts, evaluations, checkpoints, and that answers may get longer with training.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.simulated_engine import DecodeRate
from benchmarks.simulated_run import Deaths, Figures, Setup, SimulatedRun
from reasongym.config import load_config
from reasongym.errors import ConfigError, ResourceError
from reasongym.files import write_atomic
from reasongym.planning import KNOWN_SHAPES, Hardware, plan
from reasongym.tracking.report.svg import CHART_STYLE, Series, chart

PICTURE = Path(__file__).parent.parent / "docs" / "curves" / "asynchronous.svg"
SHAPE = KNOWN_SHAPES["Qwen/Qwen2.5-7B-Instruct"]
HBM_BYTES_S, HBM_SHARE, DECODE_S = 3.35e12, 0.8, 2e-3
FLOP_S, MFU = 989e12, 0.35
LINK_BYTES_S = 25e9
PUSH_S = 0.2  # of a transfer, beside its bytes: calls, and the engines' reload
SWITCH_S = 1.0  # where engine and rank share a GPU: 15 GB to host memory and back over PCIe 5
OPTIMIZER_S = 0.5
MICRO_TOKENS = 20_480
PROMPT_TOKENS, MAX_NEW_TOKENS = 512, 16_384
MEDIAN, SIGMA = 3000, 0.9
PROMPTS, GROUP = 256, 16
MOST_OPEN = 192  # fills the KV cache that 80 GB leave beside the weights

GPUS = (8, 16, 32, 64, 128, 256, 512)
BOUNDS = (1, 2, 4)
STEPS, WARM_UP, PILOT = 13, 5, 5
SEED = 0


class Split(NamedTuple):
    ranks: int
    engines: int
    shared: bool = False


def measure() -> dict[str, float]:
    """Speed-ups, idle shares and staleness by number of GPUs; prints them, and draws docs/curves/asynchronous.svg."""
    figures: dict[str, float] = {}
    gains: dict[tuple[int, bool], list[tuple[int, float]]] = {}
    for gpus in GPUS:
        found = compare(gpus)
        figures |= found
        for bound in BOUNDS:
            for drain in (False, True):
                key = f"{gpus}_gpus_bound_{bound}{'_drain' if drain else ''}_speedup"
                gains.setdefault((bound, drain), []).append((gpus, found[key]))
    write_atomic(PICTURE, picture(gains))
    return figures | hardship()


def compare(gpus: int, *, steps: int = STEPS, prompts: int = PROMPTS) -> dict[str, float]:
    """One number of GPUs: the best synchronous run, and asynchronous ones at the split best for a bound of 2."""
    separate = [split for split in splits(gpus) if not split.shared]
    best = min(splits(gpus), key=lambda split: _run(split, 0, PILOT, prompts).step_s)
    figures = {f"{gpus}_gpus_sync": (best, _run(best, 0, steps, prompts))}
    chosen = min(separate, key=lambda split: _run(split, 2, PILOT, prompts).step_s)
    for bound in BOUNDS:
        for drain in (False, True):
            name = f"{gpus}_gpus_bound_{bound}{'_drain' if drain else ''}"
            figures[name] = (chosen, _run(chosen, bound, steps, prompts, drain=drain))
    base = figures[f"{gpus}_gpus_sync"][1].step_s
    values: dict[str, float] = {}
    for name, (split, found) in figures.items():
        values |= _values(name, split, found, base)
        print(_line(name, split, found, base), flush=True)
    return values


def splits(gpus: int) -> list[Split]:
    """What has room, in eighths of the GPUs; and all GPUs for both in turn."""
    eighths = [Split(gpus * part // 8, gpus - gpus * part // 8) for part in range(1, 8)]
    return [split for split in [*eighths, Split(gpus, gpus, shared=True)] if _fits(gpus, split)]


def _fits(gpus: int, split: Split) -> bool:
    settings = {"resources.nodes": gpus // 8, "resources.placement": "shared" if split.shared else "separate",
                "trainer.ranks": split.ranks, "rollout.engines": split.engines, "rollout.max_num_seqs": MOST_OPEN,
                "rollout.prompts_per_step": PROMPTS, "rollout.group_size": GROUP,
                "rollout.max_prompt_tokens": PROMPT_TOKENS, "rollout.max_new_tokens": MAX_NEW_TOKENS,
                "rollout.gpu_memory_utilization": 0.5 if split.shared else 0.85,
                "trainer.micro_batch_tokens": MICRO_TOKENS, "trainer.gradient_checkpointing": "true",
                "resources.ray_address": "auto"}
    try:
        plan(load_config("gpu8", overrides=[f"{key}={value}" for key, value in settings.items()]),
             Hardware.described("8x H100 80GB"), SHAPE)
    except (ConfigError, ResourceError):
        return False
    return True


def _run(split: Split, bound: int, steps: int, prompts: int, *, drain: bool = False) -> Figures:
    weights = 2.0 * SHAPE.parameters  # bytes, in bfloat16
    read_s = HBM_BYTES_S * HBM_SHARE
    token_bytes = SHAPE.kv_bytes_per_token(bytes_per_element=2)
    setup = Setup(engines=split.engines, bound=bound, batch=prompts, prompt_tokens=PROMPT_TOKENS, drain=drain,
                  decode=DecodeRate(DECODE_S + weights / read_s, token_bytes / read_s), most_open=MOST_OPEN,
                  train_s=lambda lengths: train_s(lengths, split.ranks),
                  transfer_s=PUSH_S + weights / LINK_BYTES_S + SWITCH_S * split.shared)
    return SimulatedRun(setup, answer_lengths(GROUP), group_size=GROUP).run(steps, warm_up=min(WARM_UP, steps // 2))


def train_s(lengths: Sequence[Sequence[int]], ranks: int) -> float:
    """Seconds of an update: whole micro-batches, equally many on every rank; 8 FLOP a parameter and token, since
    activations are computed twice."""
    tokens = sum(PROMPT_TOKENS + sum(group) for group in lengths)
    micros = math.ceil(math.ceil(tokens / MICRO_TOKENS) / ranks)
    return OPTIMIZER_S + micros * MICRO_TOKENS * 8 * SHAPE.parameters / (FLOP_S * MFU)


def answer_lengths(group: int, *, seed: int = SEED) -> Iterator[list[int]]:
    """The same in every run of a seed: tokens of each answer of one group after another."""
    draw = random.Random(seed)
    while True:
        yield [min(MAX_NEW_TOKENS, max(1, round(draw.lognormvariate(math.log(MEDIAN), SIGMA)))) for _ in range(group)]


def hardship(*, steps: int = 10_000, bound: int = 2) -> dict[str, float]:
    """Many steps of few groups on engines that die every hour: the bound holds, and every group is trained on once."""
    setup = Setup(engines=4, bound=bound, batch=4, prompt_tokens=PROMPT_TOKENS, transfer_s=1.0,
                  decode=DecodeRate(8e-3, 2e-8), most_open=8, deaths=Deaths(mean_s=3600.0, restart_s=60.0, seed=SEED),
                  train_s=lambda lengths: random.Random(sum(map(sum, lengths))).expovariate(1 / 60))
    found = SimulatedRun(setup, answer_lengths(2), group_size=2).run(steps, warm_up=0)
    assert sum(found.staleness.values()) == steps * setup.batch
    print(f"{steps} steps with {found.deaths} deaths of engines: groups by staleness {found.staleness}", flush=True)
    return {"hardship_steps": steps, "hardship_deaths": found.deaths, "hardship_staleness_max": max(found.staleness)}


def _values(name: str, split: Split, found: Figures, base: float) -> dict[str, float]:
    groups = sum(found.staleness.values())
    mean = sum(age * count for age, count in found.staleness.items()) / groups
    return {f"{name}_ranks": split.ranks, f"{name}_engines": split.engines, f"{name}_step_seconds": found.step_s,
            f"{name}_speedup": base / found.step_s, f"{name}_engine_idle": found.engine_idle,
            f"{name}_rank_idle": found.rank_idle, f"{name}_staleness_mean": mean, f"{name}_queued": found.queued,
            **{f"{name}_staleness_{age}_share": count / groups for age, count in found.staleness.items()}}


def _line(name: str, split: Split, found: Figures, base: float) -> str:
    groups = sum(found.staleness.values())
    ages = " ".join(f"{age}:{100 * count / groups:.0f}%" for age, count in found.staleness.items())
    where = "shared" if split.shared else f"{split.ranks}+{split.engines}"
    return (f"{name:<26}{where:>9} {found.step_s:8.1f} s a step {base / found.step_s:5.2f} times "
            f"engines idle {100 * found.engine_idle:3.0f} % ranks idle {100 * found.rank_idle:3.0f} % "
            f"queued {found.queued:.1f} staleness {ages}")


def picture(gains: dict[tuple[int, bool], list[tuple[int, float]]]) -> str:
    """Speed-up over the number of GPUs, which doubles from tick to tick."""
    series = [Series(label=f"bound {bound}{', drain' if drain else ''}", colour=place, dots=True,
                     x=[gpus.bit_length() - 1 for gpus, _ in points], y=[gain for _, gain in points])
              for place, ((bound, drain), points) in enumerate(gains.items())]
    heading = "Speed of asynchronous sampling, synchronous = 1"
    return chart(heading, series, width=760, height=360, heading=heading, style=CHART_STYLE,
                 show=lambda value: f"{value:.2f}", unit="GPUs", show_x=lambda power: f"{2**power}")
