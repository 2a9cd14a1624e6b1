"""LoRA on real DeepSpeed ranks: the model stays as it is; what is sent and written is the policy that was trained."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch", reason="the training stack is not installed")


from reasongym.config import load_config  # noqa: E402
from reasongym.config.sections import LoraConfig  # noqa: E402
from reasongym.errors import ConfigError, TrainerError  # noqa: E402
from reasongym.planning import KNOWN_SHAPES  # noqa: E402
from reasongym.planning.memory import critic_memory, trainer_memory  # noqa: E402
from reasongym.training.lora import check_lora, merged_weight  # noqa: E402
from reasongym.training.rows import MicroBatch, Row, Sample, split_over_ranks  # noqa: E402
from reasongym.training.update import LossSettings  # noqa: E402

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(600)]

SMOL = KNOWN_SHAPES["smollm2-135m"]
RATE = 1e-2
LORA = LoraConfig(rank=4, alpha=8.0)
LAYERS, HIDDEN, KEYS, MLP = 2, 128, 64, 256  # of the tiny model
# A layer's adapters: rank x (inputs + outputs) of q, k, v, o, gate, up, down.
ADAPTERS = LAYERS * LORA.rank * (2 * 2 * HIDDEN + 2 * (HIDDEN + KEYS) + 3 * (HIDDEN + MLP))


def micros(ranks: int) -> list[list[MicroBatch]]:
    generator = torch.Generator().manual_seed(3)

    def draw(n: int) -> tuple[int, ...]:
        return tuple(torch.randint(0, 49000, (n,), generator=generator).tolist())

    batches = []
    for prompt_length, lengths in ((9, (5, 12)), (4, (8, 20))):
        prompt = draw(prompt_length)
        batches.append(MicroBatch((Row(tuple(
            Sample(prompt_ids=prompt, token_ids=draw(n), mask=(True,) * n,
                   columns={"engine_logprobs": (-10.8,) * n, "advantages": ((-1.0) ** k * (k + 1) / 2,) * n})
            for k, n in enumerate(lengths))),)))
    return split_over_ranks(batches, ranks)


LOSS = LossSettings(algorithm="grpo", knobs={"clip_low": 0.2, "clip_high": 0.2, "dual_clip": None},
                    denominator=5.0 + 12 + 8 + 20, correction="token_truncate")


def probe() -> Any:
    """A rank that shows what it holds. Made in a function, so that it travels to the actor by value."""
    from reasongym.training.rank import Rank

    class Probe(Rank):
        def sent(self) -> dict[str, Any]:
            """What a sender is given, bucket by bucket."""
            return self._collected(self._weights)

        def own(self) -> dict[str, Any]:
            return self._collected(lambda names: self._gathered(self.parameters, names))

        def optimizer(self) -> tuple[int, set[Any], set[str]]:
            """Elements whose master copies this rank has, their dtypes, names of parameters that get a gradient."""
            held = self.engine.optimizer.fp32_partitioned_groups_flat
            wanted = {name for name, p in self.model.named_parameters() if p.requires_grad}
            return sum(p.numel() for p in held), {p.dtype for p in held}, wanted

    return Probe


class Ranks:
    """A group of probing ranks."""

    def __init__(self, model: Path, *, ranks: int = 1, lora: LoraConfig = LORA, reference: bool = True,
                 **zero: Any) -> None:
        from reasongym.training.group import RankGroup
        from reasongym.training.zero import ZeroSettings
        from reasongym.training.zero_rank import RankSettings

        common: dict[str, Any] = {"stage": 3, "dtype": "float32", "device": "cpu", "learning_rate": RATE,
                                  "weight_decay": 0.0, "betas": (0.9, 0.99), "max_grad_norm": 1.0,
                                  "offload_optimizer": False}
        settings = RankSettings(model=str(model), zero=ZeroSettings(**common | zero), world=ranks, temperature=1.0,
                                chunk_tokens=16, gradient_checkpointing=False, trust_remote_code=False,
                                reference=reference, bucket_bytes=1 << 20, threads=1, timeout_s=200, seed=0, lora=lora)
        self.model, self.micros = model, micros(ranks)
        self.group = RankGroup(probe(), settings, [({"num_cpus": 0}, {})] * ranks, start_timeout_s=200,
                               step_timeout_s=200)
        self.counts = self.group.build()

    def train(self, steps: int) -> list[float]:
        """The loss of each step."""
        return [sum(t.loss for t in self.group.scatter("train", [(m, LOSS, RATE) for m in self.micros]))
                for _ in range(steps)]

    def measured(self, method: str) -> dict[tuple[int, ...], list[float]]:
        """Completion -> what the ranks say of its tokens."""
        answers = self.group.scatter(method, [(m,) for m in self.micros])
        return {tuple(sample.token_ids): values for batches, found in zip(self.micros, answers, strict=True)
                for micro, columns in zip(batches, found, strict=True)
                for sample, values in zip(micro.samples, columns, strict=True)}

    def first(self, method: str, *arguments: Any) -> Any:
        return self.group.call(method, *arguments)[0]


@pytest.fixture
def started(tiny: Path, ray_here: None) -> Iterator[Callable[..., Ranks]]:
    """Makes groups of ranks, and ends them."""
    made: list[Ranks] = []

    def make(model: Path = tiny, **changes: Any) -> Ranks:
        made.append(Ranks(model, **changes))
        return made[-1]

    yield make
    for ranks in made:
        ranks.group.close()


class Trained(NamedTuple):
    """What a group of ranks said and wrote in three steps. `then`, `final` and `checkpoint` are of after the second;
    the reference was renewed after the first."""

    losses: list[float]
    counts: dict[str, int]
    optimizer: tuple[int, set[Any], set[str]]
    before: dict[tuple[int, ...], list[float]]
    reference: dict[tuple[int, ...], list[float]]
    at_renewal: dict[tuple[int, ...], list[float]]
    renewed_reference: dict[tuple[int, ...], list[float]]
    then: dict[tuple[int, ...], list[float]]
    sent: dict[str, Any]
    own: dict[str, Any]
    final: Path
    checkpoint: Path
    third: dict[str, Any]


def three_steps(tiny: Path, folder: Path, num_ranks: int) -> Trained:
    ranks, losses, found = Ranks(tiny, ranks=num_ranks), [], dict[str, Any]()
    try:
        found["before"] = ranks.measured("logprobs")
        losses += ranks.train(1)
        found["reference"], found["at_renewal"] = ranks.measured("reference_logprobs"), ranks.measured("logprobs")
        ranks.group.call("renew_reference")
        losses += ranks.train(1)
        found["renewed_reference"], found["then"] = ranks.measured("reference_logprobs"), ranks.measured("logprobs")
        found |= {name: ranks.first(name) for name in ("sent", "own", "optimizer")}
        ranks.group.call("export", str(folder / "final"), str(tiny))
        ranks.group.call("save", str(folder / "checkpoint"))
        losses += ranks.train(1)
        found["third"] = ranks.first("sent")
    finally:
        ranks.group.close()
    return Trained(losses=losses, counts=ranks.counts, final=folder / "final", checkpoint=folder / "checkpoint",
                   **found)


@pytest.fixture(scope="module")
def one_rank(tiny: Path, ray_here: None, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return three_steps(tiny, tmp_path_factory.mktemp("one"), 1)


@pytest.fixture(scope="module")
def two_ranks(tiny: Path, ray_here: None, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return three_steps(tiny, tmp_path_factory.mktemp("two"), 2)


@pytest.fixture(scope="module", params=["one_rank", "two_ranks"])
def trained(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def stored(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(folder / "model.safetensors")


def test_the_first_steps_loss_is_that_of_the_whole_model(one_rank: Trained, started: Callable[..., Ranks]) -> None:
    whole = started(lora=LoraConfig(), reference=False).train(1)
    assert one_rank.losses[0] == pytest.approx(whole[0], rel=1e-5)  # B = 0: the adapters add nothing yet
    assert one_rank.losses[2] < one_rank.losses[1] < one_rank.losses[0]


@pytest.mark.parametrize(("run", "ranks"), [("one_rank", 1), ("two_ranks", 2)])
def test_only_the_adapters_are_trained(run: str, ranks: int, request: pytest.FixtureRequest) -> None:
    trained = request.getfixturevalue(run)
    elements, dtypes, wanted = trained.optimizer
    assert trained.counts["trained"] == ADAPTERS
    assert elements == ADAPTERS // ranks  # every adapter's size is even: nothing is padded
    assert dtypes == {torch.float32}
    assert len(wanted) == LAYERS * 7 * 2
    assert all(".lora_A." in name or ".lora_B." in name for name in wanted)


def test_the_models_own_weights_never_move(trained: Trained, tiny: Path) -> None:
    original = stored(tiny)
    assert trained.own.keys() == original.keys()
    assert all(torch.equal(trained.own[name], tensor) for name, tensor in original.items())


def test_the_reference_is_the_initial_model_to_the_last_bit(trained: Trained) -> None:
    assert trained.reference == trained.before
    assert trained.at_renewal != trained.before


def test_a_renewed_reference_is_the_policy_of_its_renewal(trained: Trained) -> None:
    assert trained.renewed_reference == trained.at_renewal
    assert trained.then != trained.at_renewal


def test_what_is_sent_is_what_peft_merges(trained: Trained, tiny: Path) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32)
    merged = PeftModel.from_pretrained(base, trained.final / "adapter").merge_and_unload().state_dict()
    moved = [name for name, tensor in trained.sent.items() if not torch.equal(tensor, trained.own[name])]
    assert len(moved) == LAYERS * 7
    for name, tensor in trained.sent.items():
        torch.testing.assert_close(tensor, merged[name], rtol=1e-6, atol=1e-7)


def test_the_final_model_is_what_was_sent_and_answers_as_the_policy(trained: Trained) -> None:
    from reasongym.training.policy import Policy, load_policy
    from reasongym.training.tensors import collate

    final = stored(trained.final)
    assert all(torch.equal(final[name], tensor) for name, tensor in trained.sent.items())
    model = load_policy(str(trained.final), dtype=torch.float32, trust_remote_code=False, gradient_checkpointing=False)
    policy = Policy(model, temperature=1.0, chunk_tokens=16)
    for micro in micros(1)[0]:
        logprobs_BT = policy(collate(micro, device=torch.device("cpu"))).logprobs_BT
        for sample, logprobs_T in zip(micro.samples, logprobs_BT.tolist(), strict=True):
            assert logprobs_T[:len(sample.token_ids)] == pytest.approx(trained.then[tuple(sample.token_ids)], abs=1e-4)


def test_how_many_ranks_train_changes_nothing(one_rank: Trained, two_ranks: Trained) -> None:
    assert two_ranks.losses == pytest.approx(one_rank.losses, rel=1e-4, abs=1e-6)
    for name, tensor in one_rank.third.items():
        moved = float((tensor - one_rank.own[name]).abs().max())
        torch.testing.assert_close(two_ranks.third[name], tensor, rtol=0, atol=0.02 * moved)


@pytest.mark.parametrize(("run", "ranks"), [("one_rank", 1), ("two_ranks", 2)])
def test_a_checkpoint_holds_the_adapters_and_goes_on_as_if_never_left(
        run: str, ranks: int, request: pytest.FixtureRequest, started: Callable[..., Ranks], tiny: Path) -> None:
    trained = request.getfixturevalue(run)
    written = sum(file.stat().st_size for file in trained.checkpoint.rglob("*") if file.is_file())
    # Five float32 copies: adapters, master copies, two moments, the renewed reference. The rest is DeepSpeed's own.
    assert 5 * 4 * ADAPTERS < written < 10 * 4 * ADAPTERS < (tiny / "model.safetensors").stat().st_size
    again = started(ranks=ranks)
    again.group.call("load", str(trained.checkpoint))
    assert again.measured("logprobs") == trained.then
    assert again.measured("reference_logprobs") == trained.at_renewal
    again.train(1)
    assert {name: torch.equal(tensor, trained.third[name]) for name, tensor in again.first("sent").items()
            } == dict.fromkeys(trained.third, True)


def test_adapters_of_other_weights_are_refused(one_rank: Trained, started: Callable[..., Ranks], tiny: Path,
                                               tmp_path: Path) -> None:
    from safetensors.torch import save_file

    other, weights = shutil.copytree(tiny, tmp_path / "other"), stored(tiny)
    weights["model.norm.weight"][0] += 1e-3
    save_file(weights, other / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(TrainerError, match="belong to other weights"):
        started(other, reference=False).group.call("load", str(one_rank.checkpoint))


@pytest.mark.parametrize("zero", [{"stage": 0}, {"stage": 2, "dtype": "bfloat16"}, {"dtype": "bfloat16"}], ids=str)
def test_other_stages_and_bfloat16_train_the_adapters_too(started: Callable[..., Ranks], tiny: Path, tmp_path: Path,
                                                          zero: dict[str, Any]) -> None:
    ranks = started(**zero)
    before = ranks.measured("logprobs")
    ranks.train(2)
    original = {name: tensor.to(getattr(torch, zero.get("dtype", "float32"))) for name, tensor in stored(tiny).items()}
    own, sent = ranks.first("own"), ranks.first("sent")
    assert all(torch.equal(own[name], tensor) for name, tensor in original.items())
    assert {tensor.dtype for tensor in sent.values()} == {tensor.dtype for tensor in own.values()}
    assert sum(not torch.equal(sent[name], tensor) for name, tensor in original.items()) == LAYERS * 7
    assert ranks.measured("reference_logprobs") == before
    ranks.group.call("save", str(tmp_path))
    present = ranks.measured("logprobs")
    ranks.train(1)
    ranks.group.call("load", str(tmp_path))
    assert ranks.measured("logprobs") == present


def test_a_merged_weight_is_rounded_once() -> None:
    # Next to 1, bfloat16 has steps of 2^-7. s B A is 2^-8 + 2^-17, a little over half a step, and rounds up to one.
    # Rounded to bfloat16 before it is added it is 2^-8, exactly half a step, which rounds to even: to 1.
    weight = torch.ones(1, 1, dtype=torch.bfloat16)
    a, b = torch.full((2, 1), 2.0**-4, dtype=torch.bfloat16), torch.tensor([[2.0**-5, 2.0**-14]], dtype=torch.bfloat16)
    assert float(weight + 2 * (b @ a)) == 1
    merged = merged_weight(weight, a, b, 2.0)
    assert merged.dtype == torch.bfloat16
    assert float(merged) == 1 + 2.0**-7
    assert float(weight) == 1


@pytest.mark.parametrize(("lora", "named"), [
    (LoraConfig(rank=4, targets=("q_prj",)), r"q_prj.*(?s:.*)expected: some of down_proj, gate_proj"),
    (LoraConfig(rank=4, targets=()), "no target"),
    (LoraConfig(rank=4, targets=("lm_head",)), "lm_head"),  # is the embedding as well
    (LoraConfig(rank=KEYS + 1), rf"(?s)at most {KEYS}.*self_attn\.k_proj"),
], ids=["misspelt", "none", "head", "too wide"])
def test_adapters_that_do_not_fit_are_refused_before_anything_starts(tiny: Path, lora: LoraConfig, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        check_lora(lora, str(tiny), trust_remote_code=False)


def test_a_rank_as_wide_as_the_layer_is_allowed(tiny: Path) -> None:
    check_lora(LoraConfig(rank=KEYS), str(tiny), trust_remote_code=False)


def test_the_adapter_folder_says_what_peft_needs(trained: Trained, tiny: Path) -> None:
    settings = json.loads((trained.final / "adapter" / "adapter_config.json").read_text())
    assert (settings["r"], settings["lora_alpha"]) == (LORA.rank, LORA.alpha)
    assert set(settings["target_modules"]) == set(LORA.targets)
    assert settings["base_model_name_or_path"] == str(tiny)


RULES = '''
from reasongym.verifiers import verifier

@verifier("length_parity")
def length_parity(response, reference, *, example):
    """A random model answers nothing right; this gives it something to learn from."""
    return (len(response) % 7) / 7
'''
SETTINGS = ("model.lora.rank=8", "rollout.prompts_per_step=4", "rollout.group_size=4", "rollout.max_new_tokens=12",
            "rollout.max_prompt_tokens=96", "rollout.kv_cache_gib=0.1", "rollout.max_num_seqs=16", "evaluation.every=0",
            "trainer.learning_rate=1e-2", "algorithm.kl.coefficient=0.01", "task.verifier={rules}:length_parity",
            "checkpoint.every=1", "sync.verify=always")


def test_a_run_serves_the_merged_policy_and_leaves_model_and_adapter(tiny: Path, tmp_path: Path) -> None:
    from safetensors import safe_open

    (tmp_path / "rules.py").write_text(RULES)
    sets = [part for setting in SETTINGS for part in ("--set", setting.format(rules=tmp_path / "rules.py"))]
    start = [sys.executable, "-m", "reasongym", "train", "--task", "arithmetic", "--model", str(tiny), "--recipe",
             "cpu", "--steps", "2", "--name", "lora", "--runs", str(tmp_path), *sets]
    done = subprocess.run(start, cwd=tmp_path, capture_output=True, text=True, timeout=550, check=False)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-5000:]}"
    rows = [json.loads(line) for line in (tmp_path / "lora" / "metrics.jsonl").read_text().splitlines()]
    # sync.verify is `always`: these pushes were compared with the engine tensor by tensor. Its second answers came
    # from the merged weights of the first step, and the trainer, with adapters beside the model, agrees with them.
    assert [row["step"] for row in rows if "sync/verify_seconds" in row] == [1, 2]
    assert all(row["mismatch/mean_abs_logprob_diff"] < 0.05 for row in rows)
    assert rows[0]["train/kl"] == 0  # the policy is the reference until it has moved
    assert rows[1]["train/kl"] > 0
    final, original = stored(tmp_path / "lora" / "final"), stored(tiny)
    assert sum(not torch.equal(final[name], tensor) for name, tensor in original.items()) == LAYERS * 7
    with safe_open(tmp_path / "lora" / "final" / "adapter" / "adapter_model.safetensors", "pt") as adapter:
        assert len(list(adapter.keys())) == LAYERS * 7 * 2


def test_the_plan_counts_adapters_alone_as_trained_and_no_copy_as_reference() -> None:
    def need(*overrides: str, algorithm: str = "algorithm.kl.coefficient=0.1") -> Any:
        return trainer_memory(load_config(overrides=(algorithm, *overrides)), SMOL, "cpu", "float32")

    # SmolLM2, a layer: q and o 576 + 576, k and v 576 + 192, three of the MLP 576 + 1536; 30 layers
    adapters = 16 * 30 * (2 * 1152 + 2 * 768 + 3 * 2112)
    lora, whole = need("model.lora.rank=16"), need()
    assert lora.parameters == whole.parameters + 4 * adapters
    assert (lora.gradients, lora.optimizer, lora.reference) == (4 * adapters, 12 * adapters, 0)
    assert (whole.gradients, whole.reference) == (4 * SMOL.parameters, whole.parameters)
    assert lora.exported == whole.exported
    assert need("model.lora.rank=16", "model.lora.targets=[q_proj]").gradients == 4 * 16 * 30 * 1152
    config = load_config(overrides=("algorithm.name=ppo", "model.lora.rank=16"))
    assert critic_memory(config, SMOL, "cpu", "float32", ranks=1).gradients == 4 * (SMOL.parameters + 577)  # all of it
