"""Every algorithm that samples, on the real stack: Ray, a vLLM engine, two ZeRO-3 ranks, a critic and a reference
policy are started once, and each algorithm makes two steps of the training loop with them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(900)]

SETTINGS = ("rollout.prompts_per_step=4", "rollout.group_size=4", "rollout.max_new_tokens=10",
            "rollout.max_prompt_tokens=96", "rollout.kv_cache_gib=0.1", "rollout.max_num_seqs=8", "trainer.ranks=2",
            "trainer.learning_rate=1e-3", "evaluation.every=0", "checkpoint.every=0", "tracking.rollouts=false",
            "trainer.mini_batches=2", "scoring.workers=1", "task.name=arithmetic", "task.settings={}",
            "sync.verify=always")
SAMPLED = ("grpo", "dr_grpo", "dapo", "gspo", "cispo", "rloo", "reinforce", "reinforce_pp", "reinforce_pp_baseline",
           "ppo", "online_dpo")


def settings(folder: Path, name: str) -> list[str]:
    kl = () if name == "online_dpo" else ("algorithm.kl.coefficient=0.01", "algorithm.entropy_coefficient=0.001")
    return [*SETTINGS, f"algorithm.name={name}", f"model.path={folder}/model",
            f"task.verifier={folder}/rules.py:length_parity", *kl]


@pytest.fixture(scope="module")
def session(workshop: Path) -> Iterator[Any]:
    """Opened for PPO with a KL term, which needs all there is: engine, ranks, reference, critic."""
    from reasongym.config import load_config
    from reasongym.planning import Hardware, plan, shape_of
    from reasongym.tracking import Progress, RunFolder
    from reasongym.tracking.loggers import Loggers, RunInfo
    from reasongym.training.opening import open_session
    from reasongym.training.task import make_task, reward_parts

    config = load_config("cpu", overrides=settings(workshop, "ppo"))
    task = make_task(config, training=True)
    planned = plan(config, Hardware.detect(str(workshop)), shape_of(config.model.path))
    loggers = Loggers([], RunInfo(name="run", folder="", config={}), timeout_s=1.0, tell=print)
    with Progress(2) as progress, open_session(config, planned, RunFolder(workshop / "run"), progress, loggers,
                                               task=task, parts=reward_parts(config, task)) as opened:
        opened.push_weights(0)
        yield opened


@pytest.mark.parametrize("name", SAMPLED)
def test_an_algorithm_makes_steps_that_change_the_weights_the_engine_samples_with(
        session: Any, workshop: Path, name: str) -> None:
    from reasongym.config import load_config
    from reasongym.training.checkpoints import LoopState
    from reasongym.training.loop import train_step

    config = load_config("cpu", overrides=settings(workshop, name))
    running, state = replace(session, config=config), LoopState()
    before = session.engines.call("checksums")[0]
    for _ in range(2):
        state = train_step(running, state)
    after = session.engines.call("checksums")[0]  # each push compared them with the trainer's own
    assert state.step == 2
    assert all(after[key] != before[key] for key in before), "some tensor did not move"
    (values,) = [row for row in session.metrics.read() if row["step"] == 2][-1:]
    assert values["train/grad_norm"] > 0
    assert all(math.isfinite(value) for key, value in values.items() if isinstance(value, float)), values
    if name == "ppo":
        assert values["critic/grad_norm"] > 0
    if name in {"ppo", "reinforce_pp"}:
        assert values["train/kl_coefficient"] == 0.01
