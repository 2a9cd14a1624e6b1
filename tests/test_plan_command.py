"""`reasongym plan`: what it prints, its exit status, its remedies and its reckoning of time."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from reasongym.cli import cli
from reasongym.config import load_config
from reasongym.errors import ConfigError, ReasongymError
from reasongym.planning import KNOWN_SHAPES, Hardware, Plan
from reasongym.planning.placement import Slot
from reasongym.planning.plan import assess
from reasongym.planning.rates import MEANINGS, assumed_rates
from reasongym.planning.remedies import remedies, shortages
from reasongym.planning.roles import roles, where
from reasongym.planning.timing import StepTime, step_time

NODE = Hardware.described("8x H100 80GB")
SEVEN = "Qwen/Qwen2.5-7B-Instruct"


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["plan", *arguments])


def _plan(*overrides: str, hardware: Hardware = NODE, recipe: str = "gpu8", model: str = SEVEN) -> Plan:
    config = load_config(recipe, options={"model.path": model}, overrides=overrides)
    return assess(config, hardware, KNOWN_SHAPES[model])


def _time(*overrides: str, assume: tuple[str, ...] = (), **changes: Any) -> StepTime:
    made = _plan(*overrides, **changes)
    found = step_time(made, assumed_rates(made.hardware, made.device, made.dtype).with_values(assume))
    assert found is not None
    return found


# The command


def test_what_fits_is_said_with_its_parts_and_what_was_assumed() -> None:
    done = _run("--recipe", "gpu8", "--hardware", "8x H100 80GB")
    assert done.exit_code == 0
    assert done.output.rstrip().endswith("It fits.")
    for expected in ("nodes", "node 0: GPUs 0-3", "master weights and moments", "KV cache", "a trainer's GPU",
                     "capacity", "free", "training_share", "H100 by its maker's data sheet"):
        assert expected in done.output.replace("8 x H100", "nodes")
    assert max(map(len, done.output.splitlines())) <= 120


def test_what_lacks_is_named_with_remedies_that_were_planned() -> None:
    done = _run("--recipe", "gpu8", "--hardware", "8x H100 80GB", "--model", "Qwen/Qwen2.5-32B-Instruct")
    assert done.exit_code == 1
    assert "It does not fit: a trainer's GPU has 80.00 GiB and needs" in done.output
    last = [line for line in done.output.splitlines() if line.startswith("  --set")][-1]
    again = _run("--recipe", "gpu8", "--hardware", "8x H100 80GB", "--model", "Qwen/Qwen2.5-32B-Instruct",
                 *last.split())
    assert again.exit_code == 0, again.output  # the line can be typed as it is printed


@pytest.mark.parametrize(("arguments", "text"), [
    (("--recipe", "gpu8", "--config", "x.yaml"), "one configuration"),
    (("--recipe", "gpu9"), "Did you mean 'gpu8'"),
    (("--set", "trainer.rank=2"), "unknown key"),
    (("--hardware", "a lot"), "8x H100 80GB"),
    (("--assume", "training_shore=0.5"), "Did you mean 'training_share'"),
    (("--assume", "training_share=1.5"), "at most 1"),
    (("--assume", "peak_tflops=inf"), "a number above 0"),
    (("--assume", "peak_tflops=fast"), "a number above 0"),
    (("--hardware", "8x H100 80GB", "--set", "rollout.tensor_parallel=3"), "one of"),
])
def test_nonsense_ends_with_status_2(arguments: tuple[str, ...], text: str) -> None:
    raised = _run(*arguments).exception
    assert isinstance(raised, ReasongymError)
    assert raised.exit_status == 2
    assert text in str(raised)


def test_a_refusal_is_a_message_and_a_status_and_no_traceback() -> None:
    code = "from reasongym.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "plan", "--hardware", "a lot"], capture_output=True, text=True,
                          check=False)
    assert (done.returncode, done.stdout, done.stderr.splitlines()[0]) == \
        (2, "", "error: a hardware description is not understood")


def test_too_few_gpus_do_not_fit_and_are_no_nonsense() -> None:
    arguments = ("--recipe", "gpu8", "--hardware", "8x H100 80GB", "--set", "trainer.ranks=9")
    done, as_json = _run(*arguments), _run(*arguments, "--json")
    assert (done.exit_code, as_json.exit_code) == (1, 1)
    assert "at least 13 GPUs" in done.output
    assert "--hardware" not in done.output
    assert json.loads(as_json.output)["fits"] is False


def test_json_has_every_figure_of_the_tables() -> None:
    tree = json.loads(_run("--recipe", "gpu8", "--hardware", "8x H100 80GB", "--json").output)
    made = _plan()
    assert made.trainer is not None
    policy = tree["roles"][0]
    assert (policy["role"], policy["count"], policy["total"]) == ("policy", 4, made.trainer.peak)
    assert policy["free"] == 80 * 2**30 - made.trainer.peak
    assert [place["needed"] for place in tree["places"]] == [budget.needed for budget in made.budgets]
    assert set(tree["assumed"]) == set(MEANINGS)
    assert tree["step_seconds"]["total"] > 0
    assert (tree["fits"], tree["lacking"]) == (True, [])


def test_a_model_is_planned_from_its_config_json_alone(tmp_path: Path) -> None:
    widths = {"hidden_size": 576, "num_attention_heads": 9, "num_key_value_heads": 3, "num_hidden_layers": 30,
              "intermediate_size": 1536, "vocab_size": 49152, "max_position_embeddings": 8192,
              "tie_word_embeddings": True, "model_type": "llama"}
    file = tmp_path / "mine" / "config.json"
    file.parent.mkdir()
    file.write_text(json.dumps(widths), encoding="utf-8")
    done = _run("--recipe", "cpu", "--hardware", "cpu 2 cores 16GB", "--model", str(file))
    assert "mine: 134,515,008 parameters" in done.output
    file.write_text(json.dumps(widths | {"num_hidden_layers": 0}), encoding="utf-8")
    assert "impossible" in str(_run("--model", str(file), "--hardware", "cpu 2 cores 16GB").exception)


def test_a_model_of_unknown_size_is_placed_and_said_to_be_unknown() -> None:
    done = _run("--recipe", "gpu8", "--hardware", "8x H100 80GB", "--model", "someone/unknown")
    assert done.exit_code == 0
    assert "its memory is not known" in done.output


def test_planning_and_its_command_load_no_torch() -> None:
    code = ("import sys, reasongym.cli.plan, reasongym.planning.report, reasongym.planning.timing\n"
            "print([m for m in ('torch', 'vllm', 'deepspeed', 'ray', 'transformers') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Roles


@pytest.mark.parametrize(("machine", "overrides"), [
    ("1x A10 24GB", ("resources.placement=shared",)), ("cpu 2 cores 64GB", ("algorithm.kl.coefficient=0.1",)),
    ("8x H100 80GB", ("algorithm.name=ppo", "trainer.ranks=4", "algorithm.critic.ranks=2",
                      "trainer.offload_optimizer=true"))])
def test_the_parts_of_a_rank_add_up_to_what_is_planned(machine: str, overrides: tuple[str, ...]) -> None:
    config = load_config(overrides=overrides)
    made = assess(config, Hardware.described(machine), KNOWN_SHAPES["smollm2-135m"])
    found = {role.name: role for role in roles(made)}
    assert made.trainer is not None
    assert made.engine is not None
    assert found["policy"].total == made.trainer.peak + made.trainer.mapped
    assert found["engine"].total == made.engine.total + made.engine.transfer
    if made.critic:
        assert (found["critic"].total, found["critic"].count) == (made.critic.peak, 2)


def test_places_are_named_by_node_and_gpu() -> None:
    def slots(*gpus: tuple[int, tuple[int, ...]]) -> list[Slot]:
        return [Slot(kind="rank", index=i, node=node, gpus=held) for i, (node, held) in enumerate(gpus)]
    assert where(slots((0, (0,)), (0, (1,)), (1, (0,)), (1, (1,)))) == "nodes 0-1: GPUs 0-1"
    assert where(slots((0, (6,)), (0, (7,)), (1, (0, 1)))) == "node 0: GPUs 6-7, node 1: GPUs 0-1"
    assert where(slots((0, ()), (0, ()))) == "node 0"
    assert where(slots((2, (5,)))) == "node 2: GPU 5"


# Remedies


def test_remedies_come_cheapest_first_and_each_frees_something() -> None:
    made = _plan(model="Qwen/Qwen2.5-14B-Instruct")
    (lacking,) = shortages(made)
    found = remedies(made, lacking.place)
    assert all(remedy.needed < lacking.needed for remedy in found)
    keys = [remedy.settings[0].partition("=")[0] for remedy in found]
    assert keys.index("trainer.micro_batch_tokens") < keys.index("trainer.gradient_checkpointing") \
        < keys.index("trainer.offload_optimizer")
    assert any(remedy.settled for remedy in found)


def test_settings_that_are_not_needed_are_left_out_of_those_that_help_together() -> None:
    made = _plan(model="Qwen/Qwen2.5-32B-Instruct")
    joined = remedies(made, "rank")[-1]
    assert joined.fits
    assert len(joined.settings) > 1
    for setting in joined.settings:  # each is needed
        fewer = [other for other in joined.settings if other != setting]
        assert shortages(_plan(*fewer, model="Qwen/Qwen2.5-32B-Instruct"))


def test_a_cache_that_holds_no_answer_is_a_shortage_with_remedies() -> None:
    made = _plan("rollout.gpu_memory_utilization=0.203")
    (lacking,) = shortages(made)
    assert lacking.place == "cache"
    assert remedies(made, "cache")[0].fits


@pytest.mark.parametrize(("overrides", "hardware", "place"), [
    (("checkpoint.keep_last=50",), NODE, "disk"),
    ((), replace(NODE, memory_gib=30.0), "host"),
    (("resources.placement=shared", "rollout.gpu_memory_utilization=0.8"), NODE, "sampling"),
])
def test_each_place_that_lacks_is_found(overrides: tuple[str, ...], hardware: Hardware, place: str) -> None:
    lacking = shortages(_plan(*overrides, hardware=hardware))
    assert place in {budget.place for budget in lacking}


# Time


def test_training_takes_the_products_of_its_passes_over_what_the_ranks_reach() -> None:
    found = _time("algorithm.kl.coefficient=0", assume=("training_share=0.5", "peak_tflops=1000"))
    shape = KNOWN_SHAPES[SEVEN]
    tokens = 128 * 8 * 1024 + 128 * 512  # answers, and each prompt once
    assert found.trained_tokens == tokens
    # three passes of 2 a parameter that is multiplied, and 4 x 28 layers x 3584 wide x half a row of 4096
    a_token = 3 * (2 * (shape.parameters - shape.embedding) + 4 * 28 * 3584 * 2048)
    assert found.training == pytest.approx(tokens * a_token / (4 * 1000e12 * 0.5))
    recomputed = _time("trainer.gradient_checkpointing=true", assume=("training_share=0.5", "peak_tflops=1000"))
    assert recomputed.training == pytest.approx(found.training * 4 / 3)
    lora = _time("model.lora.rank=16", assume=("training_share=0.5", "peak_tflops=1000"))
    assert lora.training == pytest.approx(found.training * 2 / 3)


def test_an_engine_of_a_stated_speed_samples_its_share_of_the_answers() -> None:
    found = _time(assume=("sampling_tokens_per_s=1000",))
    assert found.sampling == pytest.approx(128 * 8 * 1024 / 4 / 1000)  # four engines
    half = _time(assume=("sampling_tokens_per_s=1000", "answer_share=0.5"))
    assert half.sampling == pytest.approx(found.sampling / 2)
    faster = _time(assume=("memory_gb_per_s=6700",))  # reading the weights is what takes the time
    assert faster.sampling < _time().sampling


def test_asynchronous_sampling_takes_the_longer_of_both_and_not_their_sum() -> None:
    apart, together = _time(), _time("rollout.mode=async")
    assert together.total == pytest.approx(max(together.sampling, together.training + together.scoring
                                               + together.communication + together.optimizer) + together.sync)
    assert together.total < apart.total


def test_ranks_on_several_nodes_wait_for_a_slow_network() -> None:
    arguments = ("resources.nodes=2", "trainer.ranks=12", "rollout.engines=4")
    slow = _time(*arguments, assume=("network_gb_per_s=1",))
    assert slow.communication > 10 * _time(*arguments, assume=("network_gb_per_s=100",)).communication
    assert _time("trainer.ranks=1").communication == 0


def test_a_cpu_is_reckoned_as_it_was_measured() -> None:
    made = assess(load_config("cpu"), Hardware.described("cpu 2 cores 16GB"), KNOWN_SHAPES["smollm2-135m"])
    found = step_time(made, assumed_rates(made.hardware, "cpu", "float32"))
    assert found is not None
    assert 80 < found.trained_tokens / found.training < 130  # 110 tokens/s on two AVX2 cores, says configs/cpu.yaml
    assert 130 < found.engine_tokens_per_s < 260  # and 200 of sampling
    slow = assumed_rates(made.hardware, "cpu", "bfloat16")  # without AMX
    assert slow.peak_tflops < assumed_rates(made.hardware, "cpu", "float32").peak_tflops / 10


@pytest.mark.parametrize(("name", "known"), [("NVIDIA H100 80GB HBM3", "H100"), ("NVIDIA A100-SXM4-80GB", "A100"),
                                             ("NVIDIA A10G", "A10"), ("Tesla T4", "T4"), ("NVIDIA L40S", "L40S"),
                                             ("NVIDIA RTX A6000", "A6000"), ("Matrox G200", "unknown"),
                                             ("NVIDIA GeForce RTX 4090", "RTX 4090"), ("NVIDIA GB200", "GB200")])
def test_a_gpu_is_known_by_its_whole_name(name: str, known: str) -> None:
    machine = replace(NODE, gpus=(replace(NODE.gpus[0], name=name),))
    assert assumed_rates(machine, "cuda", "bfloat16").gpu == known


def test_a_share_over_one_is_refused_by_the_rates_themselves() -> None:
    with pytest.raises(ConfigError, match="at most 1"):
        assumed_rates(NODE, "cuda", "bfloat16").with_values(["answer_share=2"])


# What training decides by transformers


@pytest.mark.stack
@pytest.mark.parametrize("tree", [
    {"model_type": "llama"}, {"model_type": "mistral", "sliding_window": 4096},
    {"model_type": "mistral", "sliding_window": None},
    {"model_type": "qwen2", "use_sliding_window": False, "sliding_window": 32},
    {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 32, "max_window_layers": 0},
    {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 32, "max_window_layers": 2},
    {"model_type": "qwen3"}, {"model_type": "phi3", "sliding_window": 48, "pad_token_id": 0},
    {"model_type": "gemma2", "sliding_window": 16},
])
def test_a_shape_shares_rows_where_training_does(tree: dict[str, Any], tmp_path: Path) -> None:
    from reasongym.planning import ModelShape
    from reasongym.training.sharing import may_share_rows

    widths = {"hidden_size": 16, "num_attention_heads": 2, "num_key_value_heads": 1, "num_hidden_layers": 2,
              "intermediate_size": 32, "vocab_size": 64, "max_position_embeddings": 8192}
    (tmp_path / "config.json").write_text(json.dumps(widths | tree), encoding="utf-8")
    seen = ModelShape.from_folder(tmp_path).seen_whole
    for longest in (15, 16, 17, 32, 33, 48, 49, 4096, 4097, 8000):
        assert (seen is None or longest <= seen) == may_share_rows(str(tmp_path), longest=longest,
                                                                  trust_remote_code=False), longest
