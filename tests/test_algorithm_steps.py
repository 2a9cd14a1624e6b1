"""Every algorithm through the trainer's own path, from scored groups to the step's loss and gradient: how the batch is
cut, packed, dealt and ordered changes neither. The model is real and small; only Ray and DeepSpeed are left out."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, cast

import pytest

torch = pytest.importorskip("torch", reason="the training stack is not installed")

from in_process_ranks import InProcessRanks, scored_groups  # noqa: E402

from reasongym.algorithms import ALGORITHMS  # noqa: E402
from reasongym.config import RunConfig, load_config  # noqa: E402
from reasongym.config.algorithms import ALGORITHM_CONFIGS  # noqa: E402
from reasongym.config.policy_gradient import PolicyGradientConfig  # noqa: E402
from reasongym.records import Group  # noqa: E402
from reasongym.training.experience import experience, measured, pairs_of  # noqa: E402
from reasongym.training.optimize import optimize  # noqa: E402
from reasongym.training.rows import Sample  # noqa: E402

pytestmark = pytest.mark.stack

REWARDS = [[1.0, 0.0, 0.5, 0.0], [0.2, 0.2, 0.2, 0.2], [1.0, 1.0, 0.0, None], [0.3, 0.9, 0.6, 0.1]]
NEEDS_DATA = {"dpo": ["algorithm.data=x"], "kto": ["algorithm.data=x"]}
TENSORS = {"logprobs_BT", "old_logprobs_BT", "advantages_BT", "mask_BT", "weights_BT", "reference_logprobs_BT",
           "desirable_B", "reference_point", "rewards_G", "rewards_B", "groups_B", "penalty_BT", "values_BT"}
SAMPLED = [name for name, model in ALGORITHM_CONFIGS.items() if issubclass(model, PolicyGradientConfig)]


def configured(name: str, *more: str) -> RunConfig:
    return load_config(overrides=[f"algorithm.name={name}", *NEEDS_DATA.get(name, []), "rollout.prompts_per_step=4",
                                  "rollout.group_size=4", "rollout.max_new_tokens=6", *more])


def step(name: str, *more: str, world: int = 1, groups: Sequence[Group] | None = None) -> InProcessRanks:
    """One batch through experience and optimize; the ranks hold the gradient."""
    config = configured(name, *more)
    ranks: Any = InProcessRanks(world, entropy_gradient=getattr(config.algorithm, "entropy_coefficient", 0) > 0,
                                share_prompt=config.trainer.share_prompt)
    groups = scored_groups(REWARDS) if groups is None else groups
    point = None
    if name == "online_dpo":
        samples = pairs_of(ranks, config, groups)
    elif config.algorithm.samples:
        kl = config.algorithm.kl.coefficient  # type: ignore[union-attr]
        samples = experience(ranks, ranks, config, groups, kl_coefficient=kl).groups
    else:
        samples = of_a_file(name, groups)
        if config.algorithm.needs_reference:
            samples = measured(samples, "reference_logprobs", ranks, "reference_logprobs", config)
        point = (lambda _: 0.25) if name == "kto" else None
    optimize(ranks, config, samples, updates=0, reference_point=point)
    return ranks


def of_a_file(name: str, groups: Sequence[Group]) -> list[list[Sample]]:
    found = []
    for group in groups:
        row = [Sample(prompt_ids=group.prompt.token_ids, token_ids=r.completion.token_ids, mask=r.completion.mask,
                      desirable=bool(r.reward)) for r in group.rollouts[:2]]
        found += [row] if name == "dpo" else [[sample] for sample in row]
    return found


def assert_same_step(a: InProcessRanks, b: InProcessRanks) -> None:
    largest = float(a.gradient().abs().max())
    assert largest > 1e-6, "no gradient: the comparison would show nothing"
    assert sum(a.losses) == pytest.approx(sum(b.losses), abs=1e-6)
    # The model's norms compute in float32 whatever it is asked: 1e-7 of what passes through them.
    torch.testing.assert_close(a.gradient(), b.gradient(), rtol=0, atol=1e-5 * largest)


@pytest.mark.parametrize("name", ALGORITHM_CONFIGS)
@pytest.mark.parametrize("cut", [("trainer.micro_batch_tokens=12",), ("trainer.share_prompt=false",),
                                 ("trainer.micro_batch_tokens=1", "trainer.share_prompt=false")], ids=str)
def test_how_a_batch_is_cut_and_packed_changes_neither_loss_nor_gradient(name: str, cut: tuple[str, ...]) -> None:
    assert_same_step(step(name), step(name, *cut))


@pytest.mark.parametrize("name", ALGORITHM_CONFIGS)
def test_the_number_of_ranks_changes_neither_loss_nor_gradient(name: str) -> None:
    one, three = step(name), step(name, "trainer.micro_batch_tokens=15", world=3)
    three.losses = [sum(three.losses)]
    assert_same_step(one, three)


@pytest.mark.parametrize("name", ALGORITHM_CONFIGS)
def test_the_order_of_prompts_changes_neither_loss_nor_gradient(name: str) -> None:
    groups = scored_groups(REWARDS)
    assert_same_step(step(name, groups=groups), step(name, groups=groups[::-1]))


@pytest.mark.parametrize("name", SAMPLED)
def test_kl_and_entropy_terms_are_cut_like_the_rest(name: str) -> None:
    more = ("algorithm.kl.coefficient=0.3", "algorithm.kl.estimator=k2", "algorithm.entropy_coefficient=0.2")
    whole = step(name, *more)
    assert_same_step(whole, step(name, *more, "trainer.micro_batch_tokens=12"))
    with pytest.raises(AssertionError):
        assert_same_step(whole, step(name))


@pytest.mark.parametrize("name", SAMPLED)
def test_a_kl_term_in_the_reward_changes_the_advantages_and_not_the_loss_formula(name: str) -> None:
    ranks = step(name, "algorithm.kl.coefficient=0.3", "algorithm.kl.place=reward", "algorithm.kl.estimator=k1")
    # Old and reference log-probabilities are needed before the advantages, and never measured twice.
    assert (ranks.asked.count("logprobs"), ranks.asked.count("reference_logprobs")) == (1, 1)
    with pytest.raises(AssertionError):
        assert_same_step(ranks, step(name))


@pytest.mark.parametrize("name", ["grpo", "dapo", "gspo", "cispo"])
def test_a_kl_term_in_the_reward_makes_no_signal_of_its_own_in_a_group_of_equal_rewards(name: str) -> None:
    # Divided by the group's deviation it would be of full size at any coefficient.
    more = ["algorithm.kl.coefficient=1e-9", "algorithm.kl.place=reward", "algorithm.kl.estimator=k1"]
    config = configured(name, *more, *(["algorithm.overlong_buffer=0"] if name == "dapo" else []))
    ranks: Any = InProcessRanks()
    flat, mixed = experience(ranks, ranks, config, scored_groups([[0.7] * 4, [1, 0, 0, 0]]), kl_coefficient=1e-9).groups
    assert not any(any(sample.columns["advantages"]) for sample in flat)
    assert all(abs(sample.columns["advantages"][0]) > 0.1 for sample in mixed)


def test_without_a_deviation_the_kl_term_keeps_its_size_in_a_group_of_equal_rewards() -> None:
    config = configured("grpo", "algorithm.kl.coefficient=1e-3", "algorithm.kl.place=reward",
                        "algorithm.kl.estimator=k1", "algorithm.std=none")
    ranks: Any = InProcessRanks()
    (flat,) = experience(ranks, ranks, config, scored_groups([[0.7] * 4]), kl_coefficient=1e-3).groups
    assert 0 < max(abs(sample.columns["advantages"][0]) for sample in flat) < 0.1


@pytest.mark.parametrize("name", [name for name in SAMPLED if name != "ppo"])
def test_rewards_that_are_all_equal_leave_the_policy_where_it_is(name: str) -> None:
    # PPO is not among them: its advantages are against a critic, which may be wrong about equal rewards. DAPO's penalty
    # of long answers makes rewards differ.
    more = ["algorithm.overlong_buffer=0"] if name == "dapo" else []
    ranks = step(name, *more, groups=scored_groups([[0.7] * 4] * 4))
    assert "train" not in ranks.asked  # AdamW would move the weights by what it remembers


@pytest.mark.parametrize("name", SAMPLED)
def test_old_logprobs_are_measured_only_where_several_updates_need_them(name: str) -> None:
    assert "logprobs" not in step(name).asked
    assert step(name, "trainer.mini_batches=2", "trainer.epochs=2").asked.count("train") == 4


@pytest.mark.parametrize("name", SAMPLED)
def test_answers_without_a_trainable_token_or_a_verdict_change_nothing(name: str) -> None:
    groups = scored_groups(REWARDS)
    first = groups[0]
    empty = first.rollouts[0].completion.__class__(
        token_ids=(3, 4), logprobs=(-1.0, -1.0), mask=(False, False), versions=(0, 0), text="", seed=0,
        finish_reason=first.rollouts[0].completion.finish_reason)
    extra = [first.rollouts[0].__class__(prompt=first.prompt, completion=empty, reward=1.0,
                                         verdicts=first.rollouts[0].verdicts),
             first.rollouts[1].__class__(prompt=first.prompt, completion=first.rollouts[1].completion, reward=None,
                                         verdicts=first.rollouts[1].verdicts)]
    longer = [Group(prompt=first.prompt, rollouts=(*first.rollouts, *extra)), *groups[1:]]
    assert_same_step(step(name, groups=groups), step(name, groups=longer))


def test_a_batch_whose_groups_all_failed_makes_no_optimizer_step_and_says_so() -> None:
    values = metrics("grpo", [[None, None]] * 2)
    assert values == {"train/loss": 0.0, "train/grad_norm": 0.0, "train/seconds": 0.0, "train/optimizer_steps": 0.0,
                      "train/learning_rate": 1e-6}


@pytest.mark.parametrize(("name", "rewards"), [("dapo", [[1, 0, 0], [0, 1, 1]]),
                                               ("online_dpo", [[1, 0], [1, 1], [0, 0], [0, 1]])])
def test_a_mini_batch_without_samples_makes_no_step_and_does_not_dilute_the_loss(
        name: str, rewards: list[list[float]]) -> None:
    more = ("trainer.mini_batches=4", "trainer.schedule=linear", "steps=2")
    ranks = step(name, *more, groups=scored_groups(rewards, seed=3))
    values = metrics(name, rewards, *more)
    assert values["train/loss"] == pytest.approx(sum(ranks.losses) / 2, rel=1e-6)
    assert values["train/optimizer_steps"] == len(ranks.losses) == 2
    assert values["train/learning_rate"] == pytest.approx(1e-6 * 5 / 8)  # the fourth of 8, as the schedule counts


def test_entropy_and_clipping_are_of_the_tokens_trained_on_and_absent_without_any() -> None:
    flat, mixed, both = (metrics("grpo", rewards) for rewards in ([[1, 1]], [[1, 0]], [[1, 0], [1, 1]]))
    assert flat.keys() & {"train/entropy", "train/clip_share", "mismatch/kl"} == set()
    assert both["train/entropy"] == pytest.approx(mixed["train/entropy"], rel=1e-6) != 0  # the flat group is not read


def metrics(name: str, rewards: Sequence[Sequence[float | None]], *more: str) -> dict[str, float]:
    """Of a batch with these rewards."""
    config, ranks, groups = configured(name, *more), cast(Any, InProcessRanks()), scored_groups(rewards, seed=3)
    samples = pairs_of(ranks, config, groups) if name == "online_dpo" else \
        experience(ranks, ranks, config, groups, kl_coefficient=0.0).groups
    return optimize(ranks, config, samples, updates=0)


@pytest.mark.parametrize("name", ALGORITHM_CONFIGS)
def test_every_setting_reaches_the_algorithm_and_every_argument_has_a_setting(name: str) -> None:
    module, fields = ALGORITHMS[name], set(ALGORITHM_CONFIGS[name].model_fields)
    functions = [module.loss, *([module.advantages] if hasattr(module, "advantages") else []),
                 *([module.value_loss] if hasattr(module, "value_loss") else []),
                 *([module.overlong_penalty, module.informative] if name == "dapo" else []),
                 *([module.pairs] if name == "online_dpo" else [])]
    arguments = {argument for function in functions for argument in inspect.signature(function).parameters}
    elsewhere = {"name", "aggregation", "aggregation_constant", "entropy_coefficient", "kl", "correction",
                 "dynamic_sampling", "critic", "data", "batch_size", "reference_every"}
    assert fields - elsewhere == arguments & fields, "a setting that nothing reads"
    others = TENSORS | {"old_values_BT", "returns_BT", "num_tokens", "max_new_tokens"}
    assert arguments - fields - others == set(), "an argument that cannot be set"


def test_each_name_on_the_command_line_is_an_algorithm_with_settings_and_a_row_in_the_table() -> None:
    assert list(ALGORITHMS) == list(ALGORITHM_CONFIGS)
    assert all(all(module.ABOUT) for module in ALGORITHMS.values())


@pytest.mark.parametrize("name", SAMPLED)
def test_the_table_tells_of_the_defaults(name: str) -> None:
    about, config = ALGORITHMS[name].ABOUT, ALGORITHM_CONFIGS[name]()  # type: ignore[call-arg]
    assert isinstance(config, PolicyGradientConfig)
    assert about.aggregation.split(";")[0] == config.aggregation
    assert about.kl.startswith("off") or about.kl == "none"
    assert config.kl.coefficient == 0
