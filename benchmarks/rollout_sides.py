"""One way to sample, in a process of its own: what `rollout_peers` sets side by side. Each takes the same work."""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import psutil

from reasongym.config import load_config
from reasongym.models import EMBEDDED, model_folder
from reasongym.planning import Hardware, plan, shape_of
from reasongym.records import Prompt
from reasongym.rollout.engine import Engine, actor_environment
from reasongym.rollout.requests import EngineSettings, Request, engine_settings
from reasongym.sync.transports import backend_name
from reasongym.tasks import Example

PROMPT = 120  # tokens: a GSM8K question in its chat template
GROUP = 8
LONG_TAIL = (24, 36, 42, 48, 57, 66, 84, 120)  # tokens of a group's answers, as sampling gives them
EVEN = (64,) * GROUP
VOCABULARY = 49_000
TIMEOUT_S = 300.0


class Work(NamedTuple):
    """Answers to sample at temperature 1: the seed and the tokens of each, which no end-of-text token cuts short."""

    prompts: list[tuple[int, ...]]
    lengths: list[int]
    seeds: list[int]


class Turn(NamedTuple):
    """seconds: of the wall clock. core_s, other_s: CPU seconds of vLLM's core, and of all other processes of this side.
    answers: token ids, in the order of the work."""

    seconds: float
    core_s: float
    other_s: float
    answers: list[tuple[int, ...]]


def work(count: int, lengths: Sequence[int], turn: int) -> Work:
    """`count` answers in groups that share a prompt. Prompts are random ids, and new in each turn: nothing of them is
    in a cache."""
    dice = random.Random(f"{count}/{lengths}/{turn}")
    prompts = [tuple(dice.randrange(100, VOCABULARY) for _ in range(PROMPT)) for _ in range(count // GROUP)]
    return Work([prompt for prompt in prompts for _ in range(GROUP)], [*lengths] * len(prompts),
                [dice.getrandbits(62) for _ in range(count)])


def settings() -> EngineSettings:
    """Of the engine that the recipe `cpu` starts."""
    config = load_config("cpu")
    planned = plan(config, Hardware.detect(), shape_of(EMBEDDED))
    (found,) = engine_settings(config, planned, model_folder(EMBEDDED), transport=backend_name(planned.transport))
    return found


class Unending(Engine):
    """A pool's requests cannot leave out the end of the text; here both engines do."""

    async def _sample(self, token_ids: tuple[int, ...], sampling: Any) -> Any:
        return await super()._sample(token_ids, {**sampling, "ignore_eos": True})


@contextlib.contextmanager
def ours() -> Iterator[Any]:
    """A pool of one engine, placed as a run of the recipe `cpu` places it."""
    import ray

    from reasongym.rollout.pool import EnginePool
    from reasongym.training.cluster import ray_cluster

    class Pool(EnginePool):
        def _start(self, settings: EngineSettings, index: int, placement: Any) -> Any:
            options, variables = placement
            environment = {"env_vars": actor_environment(settings.device) | variables}
            return ray.remote(Unending).options(runtime_env=environment, max_concurrency=4096, **options).remote(
                settings, index)

    def sample(asked: Work) -> list[tuple[int, ...]]:
        prompts = {ids: _prompt(ids) for ids in asked.prompts}
        requests = [Request(key=(0, place), prompt=prompts[ids], max_new_tokens=length, temperature=1.0, seed=seed)
                    for place, (ids, length, seed) in enumerate(zip(*asked, strict=True))]
        found = {request.key[1]: tuple(completion.token_ids) for request, completion in pool.stream(requests)}
        return [found[place] for place in range(len(requests))]

    config = load_config("cpu")
    with ray_cluster(config, plan(config, Hardware.detect(), shape_of(EMBEDDED))) as cluster:
        pool = Pool(settings(), cluster.engines, start_timeout_s=TIMEOUT_S, completion_timeout_s=TIMEOUT_S)
        try:
            pool.wait_ready()
            yield sample
        finally:
            pool.close()


@contextlib.contextmanager
def vllm() -> Iterator[Any]:
    """`vllm.LLM.generate`, with the same arguments of the engine and the same sampling, log-probabilities included."""
    from vllm import LLM, SamplingParams, TokensPrompt

    from reasongym.rollout.engine import engine_arguments

    with environment(actor_environment("cpu")):
        llm = LLM(**engine_arguments(settings()))

    def sample(asked: Work) -> list[tuple[int, ...]]:
        parameters = [SamplingParams(max_tokens=length, temperature=1.0, seed=seed, logprobs=0, ignore_eos=True)
                      for length, seed in zip(asked.lengths, asked.seeds, strict=True)]
        outputs = llm.generate([TokensPrompt(prompt_token_ids=list(ids)) for ids in asked.prompts], parameters,
                               use_tqdm=False)
        return [tuple(output.outputs[0].token_ids) for output in outputs]

    try:
        yield sample
    finally:
        llm.llm_engine.engine_core.shutdown()  # else this process waits for it, and it for requests


@contextlib.contextmanager
def transformers() -> Iterator[Any]:
    """One padded batch of `generate`, as long as the longest answer: what others have too much is computed, and cut."""
    import torch
    from transformers import AutoModelForCausalLM

    model: Any = AutoModelForCausalLM.from_pretrained(model_folder(EMBEDDED), dtype=getattr(torch, settings().dtype))

    def sample(asked: Work) -> list[tuple[int, ...]]:
        ids = torch.tensor(asked.prompts)
        torch.manual_seed(asked.seeds[0])
        with torch.inference_mode():
            found = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=True, temperature=1.0,
                                   top_k=0, top_p=1.0, max_new_tokens=max(asked.lengths), eos_token_id=None,
                                   pad_token_id=0)
        return [tuple(row[PROMPT:PROMPT + length]) for row, length in
                zip(found.tolist(), asked.lengths, strict=True)]

    yield sample


SIDES = {"ours": ours, "vllm": vllm, "transformers": transformers}


def turns(side: str, asked: Sequence[Work]) -> list[Turn]:
    """Starts the side, warms it up, and takes each work in turn. For a process that does nothing else."""
    with SIDES[side]() as sample:
        sample(work(64, (16,) * GROUP, -1))
        assert cores() == set(range(os.cpu_count() or 1)), f"{side} samples on cores {cores()} alone"
        return [_timed(sample, one) for one in asked]


def cores() -> set[int]:
    """Those that the threads of the process with the model may run on: vLLM's worker, its core, or this one."""
    here = psutil.Process()
    there = [(one, " ".join(one.cmdline())) for one in here.children(recursive=True)]
    models = [one for name in ("VLLM::Worker", "VLLM::EngineCore") for one, line in there if name in line] or [here]
    return {core for one in models[:1] for thread in one.threads() for core in os.sched_getaffinity(thread.id)}


def _timed(sample: Any, asked: Work) -> Turn:
    before, started = cpu_seconds(), time.perf_counter()
    answers = sample(asked)
    seconds = time.perf_counter() - started
    core, other = (after - was for after, was in zip(cpu_seconds(), before, strict=True))
    assert [len(answer) for answer in answers] == asked.lengths
    return Turn(seconds, core, other, answers)


def cpu_seconds() -> tuple[float, float]:
    """Of vLLM's core and its worker, and of this process and all others that it started."""
    core = other = 0.0
    here = psutil.Process()
    for process in (here, *here.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            spent = sum(process.cpu_times()[:2])
            if "VLLM::" in " ".join(process.cmdline()):
                core += spent
            else:
                other += spent
    return core, other


@contextlib.contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """For processes that are started meanwhile."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _prompt(ids: tuple[int, ...]) -> Prompt:
    return Prompt(example=Example(task="t", split="test", index=0, messages=(), reference=""), text="", token_ids=ids)
