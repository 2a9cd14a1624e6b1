"""Configuration: every mistake is one message that names it, and nothing is passed over in silence."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from reasongym.config import RunConfig, dump_yaml, load_config
from reasongym.errors import ConfigError


def _refused(*overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(overrides=overrides)
    return str(caught.value)


@pytest.mark.parametrize(("override", "nearest"), [
    ("trainer.learning_rat=1", "learning_rate"), ("rolout.engines=1", "rollout"),
    ("algorithm.kl.coeficient=1", "coefficient"), ("algorithm.correction.caps=3", "cap")])
def test_an_unknown_key_names_the_nearest(override: str, nearest: str) -> None:
    assert f"Did you mean '{nearest}'?" in _refused(override)


def test_several_mistakes_are_named_together() -> None:
    text = _refused("trainer.learning_rat=1", "steps=0", "rollout.engines=two")
    assert "learning_rat" in text
    assert "steps: Input should be greater than 0, got 0" in text
    assert "rollout.engines" in text


@pytest.mark.parametrize(("override", "value"), [
    ("trainer.learning_rate=1e-5", 1e-5), ("trainer.learning_rate=1.0e-5", 1e-5), ("trainer.learning_rate=2E-6", 2e-6)])
def test_a_learning_rate_written_as_people_write_it_is_a_number(override: str, value: float) -> None:
    assert load_config(overrides=[override]).trainer.learning_rate == value  # YAML 1.1 reads 1e-5 as text


def test_a_learning_rate_is_a_number_inside_lists_and_sections_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("trainer:\n  learning_rate: 1e-5\ntask:\n  settings:\n    scales: [1e-5, 2e-5]\n", encoding="utf-8")
    config = load_config(str(file))
    assert config.trainer.learning_rate == 1e-5
    assert config.task.settings == {"scales": [1e-5, 2e-5]}


@pytest.mark.parametrize("text", ["1e5_model", "e2e", "2e", "1e-5x", "'1e5'"])
def test_a_name_with_an_e_in_it_stays_text(text: str) -> None:
    assert load_config(overrides=[f"task.settings.key={text}"]).task.settings == {"key": text.strip("'")}


@pytest.mark.parametrize("override", [
    "trainer.learning_rate=.inf", "trainer.learning_rate=.nan", "trainer.learning_rate=-1", "rollout.temperature=0",
    "rollout.top_p=1.5", "algorithm.name=unheard_of", "trainer.beta1=1.0", "trainer.beta2=1", "rollout.engines=1.5",
    "trainer.learning_rate=1e9", "rollout.temperature=1e-6",
    "model.trust_remote_code=maybe"])
def test_a_value_out_of_range_or_of_a_wrong_type_is_refused(override: str) -> None:
    assert override.partition("=")[0] in _refused(override)


@pytest.mark.parametrize(("overrides", "text"), [
    (("rollout.group_size=1",), "a group needs at least 2"),
    (("rollout.top_p=0.9",), "biases the policy ratio"),
    (("rollout.top_k=50",), "biases the policy ratio"),
    (("rollout.prompts_per_step=7", "trainer.mini_batches=2"), "does not divide"),
    (("trainer.schedule=cosine", "trainer.warmup_steps=100", "steps=100"), "leaves nothing"),
    (("algorithm.aggregation_constant=512",), "only used with"),
])
def test_parts_that_do_not_fit_together_give_one_message(overrides: tuple[str, ...], text: str) -> None:
    found = _refused(*overrides)
    assert text in found
    assert found.count("\n") == 3  # what, got, expected, remedy
    assert "RunConfig(" not in found  # the value that pydantic would print is the whole configuration


@pytest.mark.parametrize("key", ["steps", "seed", "trainer.learning_rate", "algorithm.clip_low",
                                 "algorithm.kl.coefficient", "algorithm.overlong_buffer", "task.curriculum.last"])
def test_yes_is_not_the_number_1(key: str) -> None:
    assert f"{key}: true and false" in _refused("algorithm.name=dapo", f"{key}=true")


def test_yes_and_no_stay_what_they_are_where_they_are_asked_for() -> None:
    config = load_config(overrides=["trainer.share_prompt=no", "task.settings.split=yes"])
    assert (config.trainer.share_prompt, config.task.settings) == (False, {"split": True})


def test_the_warm_up_is_compared_with_optimizer_steps_and_not_with_batches() -> None:
    many = ("steps=50", "trainer.schedule=cosine", "trainer.mini_batches=4")
    assert load_config(overrides=[*many, "trainer.warmup_steps=60"]).trainer.warmup_steps == 60
    assert "200 optimizer steps" in _refused(*many, "trainer.warmup_steps=200")
    assert "leaves nothing" in _refused("steps=50", "trainer.warmup_steps=50")  # a constant rate after it never comes


def test_a_configuration_cannot_be_changed_after_it_was_checked() -> None:
    config = load_config()
    with pytest.raises(ValidationError, match="frozen"):
        config.steps = 0  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        config.trainer.learning_rate = 1.0  # type: ignore[misc]


def test_defaults_come_back_from_yaml_unchanged(tmp_path: Path) -> None:
    config = load_config(overrides=["trainer.learning_rate=1e-7", "task.settings.levels=[1, 2]", "model.path='007'",
                                    "name='1e5'"])
    file = tmp_path / "config.yaml"
    file.write_text(dump_yaml(config), encoding="utf-8")
    assert load_config(str(file)) == config
    assert (config.model.path, config.name) == ("007", "1e5")


def test_overrides_outrank_options_and_options_outrank_the_recipe(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("steps: 1\nseed: 1\nname: recipe\n", encoding="utf-8")
    config = load_config(str(file), options={"seed": 2, "name": "option"}, overrides=["name=override"])
    assert (config.steps, config.seed, config.name) == (1, 2, "override")


@pytest.mark.parametrize(("override", "text"), [
    ("steps", "not of the form key=value"), ("=3", "not of the form key=value"), ("a.b=[1", "not YAML"),
    ("steps.x=1", "steps"), ("trainer=5", "trainer")])
def test_a_malformed_override_is_refused_by_name(override: str, text: str) -> None:
    assert text in _refused(override)


def test_an_override_below_a_value_is_refused_not_crashed_on() -> None:
    with pytest.raises(ConfigError, match="is a value, not a section"):
        load_config(options={"steps": 3}, overrides=["steps.x=1"])


@pytest.mark.parametrize(("content", "text"), [
    ("- a\n- b\n", "not a mapping"), ("a: [1\n", "not YAML"), ("1: 2\n", "Keys should be strings")])
def test_a_file_that_is_no_recipe_is_refused(tmp_path: Path, content: str, text: str) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=text):
        load_config(str(file))


def test_an_unknown_recipe_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'cpu_arithmetic'"):
        load_config("cpu_arith")
    with pytest.raises(ConfigError, match="no recipe"):
        load_config("nowhere.yaml")


def test_an_empty_file_is_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "empty.yaml"
    file.write_text("# nothing yet\n", encoding="utf-8")
    assert load_config(str(file)) == load_config() == RunConfig()


def test_every_setting_says_what_it_is_or_is_named_for_it() -> None:
    """The docs are made from these strings: a section without one would be an empty heading."""
    for name, field in RunConfig.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and hasattr(section, "model_fields"):
            assert section.__doc__, name


def test_a_key_of_a_preset_section_leaves_the_other_presets_as_they_are() -> None:
    # REINFORCE++ has its KL in the reward: giving a coefficient must not move it into the loss.
    kl = load_config(overrides=["algorithm.name=reinforce_pp", "algorithm.kl.coefficient=0.01"]).algorithm.kl
    assert (kl.coefficient, kl.place, kl.estimator) == (0.01, "reward", "k1")
    sampling = load_config(overrides=["algorithm.name=dapo", "algorithm.dynamic_sampling.max_rounds=3"])
    assert sampling.algorithm.dynamic_sampling.enabled


@pytest.mark.parametrize("wrong", [
    ("algorithm.kl.target=0.1", "algorithm.kl.coefficient=0.1"),  # in the loss there is nothing to steer
    ("algorithm.kl.target=0.1", "algorithm.kl.place=reward"),  # no coefficient to move
    ("algorithm.kl.target=0.1", "algorithm.kl.place=reward", "algorithm.kl.coefficient=0.1", "algorithm.kl.horizon=12"),
    ("algorithm.name=cispo", "algorithm.cap_kind=absolute", "algorithm.cap=0.28"),
    ("algorithm.name=dpo",), ("algorithm.name=kto",),  # no data
    ("algorithm.name=sft", "trainer.mini_batches=5"),
    ("algorithm.name=dapo", "algorithm.overlong_buffer=97", "rollout.max_new_tokens=96"),
    # What learns nothing:
    ("algorithm.name=ppo", "algorithm.critic.warmup_steps=3", "steps=3"),
    ("algorithm.name=reinforce", "algorithm.baseline=group", "rollout.group_size=1"),
    ("algorithm.name=reinforce", "algorithm.dynamic_sampling.enabled=true", "rollout.group_size=1"),
    ("algorithm.name=kto", "algorithm.data=x", "algorithm.desirable_weight=0", "algorithm.undesirable_weight=0"),
    ("algorithm.kl.coefficient=0.1", "algorithm.kl.estimator=k1"),
])
def test_settings_that_contradict_the_algorithm_are_refused(wrong: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError):
        load_config(overrides=wrong)


@pytest.mark.parametrize("name", ["ppo", "reinforce", "reinforce_pp"])
def test_an_algorithm_without_groups_takes_single_answers(name: str) -> None:
    assert load_config(overrides=[f"algorithm.name={name}", "rollout.group_size=1"]).rollout.group_size == 1
    with pytest.raises(ConfigError, match="at least 2"):
        load_config(overrides=["algorithm.name=rloo", "rollout.group_size=1"])
