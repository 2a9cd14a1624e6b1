"""What ranks and engines hold, by what DeepSpeed, PyTorch and vLLM allocate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reasongym.config import RunConfig, load_config
from reasongym.planning import KNOWN_SHAPES
from reasongym.planning.activations import largest_micro_batch
from reasongym.planning.memory import (
    BUCKET_ELEMENTS,
    Device,
    TrainerMemory,
    critic_memory,
    engine_memory,
    trainer_memory,
)

SMOL = KNOWN_SHAPES["smollm2-135m"]
SEVEN = KNOWN_SHAPES["Qwen/Qwen2.5-7B-Instruct"]


def _config(*overrides: str) -> RunConfig:
    return load_config(overrides=overrides)


@pytest.mark.parametrize(("stage", "parameters", "gradients", "optimizer"), [
    (0, 2, 4, 12), (1, 2, 4, 3), (2, 2, 1, 3), (3, 0.5, 1, 3)])  # bytes a parameter on each of 4 ranks
def test_a_zero_stage_partitions_what_its_paper_says(
        stage: int, parameters: float, gradients: float, optimizer: float) -> None:
    need = trainer_memory(_config("trainer.ranks=4", f"trainer.zero_stage={stage}"), SEVEN, "cuda", "bfloat16")
    count = SEVEN.parameters  # 7,615,616,512, which 4 divides
    assert need.parameters == parameters * count
    assert need.gradients == gradients * count
    assert need.optimizer == optimizer * count


def test_float32_without_zero_keeps_no_second_master_copy() -> None:
    def optimizer(stage: int) -> int:
        return trainer_memory(_config(f"trainer.zero_stage={stage}"), SMOL, "cpu", "float32").optimizer
    assert (optimizer(0), optimizer(3)) == (8 * SMOL.parameters, 12 * SMOL.parameters)


def test_activations_follow_the_longest_row_when_it_exceeds_the_micro_batch() -> None:
    def activations(*overrides: str) -> int:
        config = _config("trainer.share_prompt=false", "trainer.micro_batch_tokens=1000", *overrides)
        return trainer_memory(config, SMOL, "cpu", "float32").activations
    # a token and layer in float32: two norms of 3 x 4 x 576 bytes; queries and their result, 2 x 576, and keys and
    # values, 2 x 192, 4 bytes each; a sum for each of 9 heads; four times the MLP's 1536: 44,580. Outside: 2 x 4 x 576
    assert activations() == 1000 * (30 * 44_580 + 4608)
    assert activations("rollout.max_new_tokens=1488") == 2000 * (30 * 44_580 + 4608)  # 512 + 1488 tokens go alone
    # recomputed: each layer's input of 576 x 4 bytes, and one layer whole
    assert activations("trainer.gradient_checkpointing=true") == 1000 * (30 * 2304 + 44_580 + 4608)


def test_rows_of_several_answers_cost_their_mask_in_every_layer_and_repeated_keys() -> None:
    config = _config("trainer.micro_batch_tokens=1000")
    # 512 + 8 x 256 tokens are cut to rows of 1000. Keys and values are as wide as the queries: 2 x 384 more of 4 bytes;
    # a float32 number for each token that a token may see, and a byte once
    need = trainer_memory(config, SMOL, "cpu", "float32")
    assert need.activations == 1000 * (30 * (44_580 + 3072 + 4 * 1000) + 4608 + 1000)
    narrow = replace(SMOL, seen_whole=512 + 256 - 1)  # a window that is one token too short
    assert largest_micro_batch(config, narrow) == (1000, 768, False)
    assert largest_micro_batch(config, replace(SMOL, seen_whole=768)) == (1000, 1000, True)
    pairs = _config("algorithm.name=dpo", "algorithm.data=pairs.parquet", "trainer.micro_batch_tokens=1000")
    assert largest_micro_batch(pairs, SMOL) == (1024, 1024, True)  # 512 + 2 x 256: a pair is not parted
    assert largest_micro_batch(pairs, narrow) == (1536, 768, False)


def test_adapters_keep_the_inputs_that_they_read_and_no_others() -> None:
    def layer(*targets: str) -> int:
        config = _config("trainer.share_prompt=false", "model.lora.rank=16", "trainer.micro_batch_tokens=1000",
                         f"model.lora.targets=[{','.join(targets)}]")
        need = trainer_memory(config, SMOL, "cpu", "float32")
        return need.activations // 30_000
    # of 44,580: neither norm keeps what it multiplies its frozen weight with, 2 x 4 x 576, nor any layer its input:
    # 2 x 4 x 576 of the norms' results, 4 x 1536 of the MLP's
    bare = 44_580 - 4 * 4 * 576 - 4 * 1536
    assert layer("q_proj") == bare + 4 * 576 + 4 * 16
    assert layer("o_proj") == bare + 4 * 16  # attention keeps its result itself
    assert layer("q_proj", "v_proj", "down_proj") == bare + 4 * 576 + 4 * 1536 + 3 * 4 * 16


def test_the_output_holds_two_chunks_of_logits_and_the_gradient_of_its_head() -> None:
    def logits(*overrides: str, dtype: str = "float32") -> int:
        config = _config("trainer.share_prompt=false", "trainer.micro_batch_tokens=1000", *overrides)
        return trainer_memory(config, SMOL, "cpu", dtype).logits
    chosen, embedding, passing = 1000 * 4 * 576, 4 * 576 * 49_152, 1000 * 4 * 2 * (1536 + 576)
    assert logits("trainer.logprob_chunk_tokens=1000") == 2 * chosen + 2 * 4 * 49_152 * 1000 + embedding
    assert logits("trainer.logprob_chunk_tokens=100") == 2 * chosen + 2 * 4 * 49_152 * 100 + embedding
    # at 10 tokens a chunk, what a layer's backward pass passes on is more than both
    assert logits("trainer.logprob_chunk_tokens=10") == chosen + passing + embedding
    # an entropy's gradient is made in the same two places
    assert logits("trainer.logprob_chunk_tokens=1000", "algorithm.entropy_coefficient=0.01") == logits(
        "trainer.logprob_chunk_tokens=1000")
    frozen = logits("trainer.logprob_chunk_tokens=900", "model.lora.rank=8")
    assert frozen == 2 * chosen + 2 * 4 * 49_152 * 900
    # the head's own logits, and the gradient that it is given, are of its dtype
    assert logits("trainer.logprob_chunk_tokens=900", dtype="bfloat16") == (
        chosen + (2 * 4 + 2) * 49_152 * 900 + embedding // 2)


def test_a_step_holds_flat_gradients_and_a_cpu_copies_of_small_buckets() -> None:
    def need(*overrides: str, device: Device = "cpu") -> TrainerMemory:
        return trainer_memory(_config(*overrides), SMOL, device, "float32")
    whole, bucket = 4 * SMOL.parameters, 4 * 2**25
    one, two = need(), need("trainer.ranks=2")
    left = [(rank.gathered + rank.activations) * (whole - bucket) // whole for rank in (one, two)]
    assert (one.bucket, one.step, one.reduction) == (bucket, whole, left[0] + 2 * bucket)
    assert (two.bucket, two.step, two.reduction) == (bucket, whole // 2, left[1] + 2 * bucket)
    assert (one.gathered, two.gathered) == (0, whole)  # two ranks keep what the backward pass needs again
    on_gpu = need(device="cuda")
    assert (on_gpu.bucket, on_gpu.step, on_gpu.reduction) == (4 * 500_000_000, whole, whole)  # handed out whole
    flat = need("trainer.zero_stage=0")
    assert (flat.bucket, flat.step, flat.reduction) == (0, 0, whole)  # Adam tensor by tensor, in place


def test_a_tensor_that_is_larger_than_a_bucket_is_reduced_alone() -> None:
    need = trainer_memory(_config("model.path=x"), SEVEN, "cpu", "float32")
    left = need.activations * (SEVEN.parameters - SEVEN.embedding) // SEVEN.parameters
    assert SEVEN.embedding > 2**25
    assert need.reduction == left + 2 * 4 * SEVEN.embedding


@pytest.mark.stack
def test_deepspeed_is_told_what_is_planned_for() -> None:
    from reasongym.training.zero import ZeroSettings, _configuration

    settings = ZeroSettings(stage=3, dtype="float32", device="cpu", learning_rate=1e-6, weight_decay=0.0,
                            betas=(0.9, 0.999), max_grad_norm=1.0, offload_optimizer=False)
    told = _configuration(settings, train=True)
    assert told["zero_optimization"]["reduce_bucket_size"] == BUCKET_ELEMENTS["cpu"]
    assert told["optimizer"]["params"]["fused"]  # computes in place


def test_of_a_large_model_a_rank_gathers_what_comes_back_soon_and_reduces_beside_activations() -> None:
    config = _config("trainer.ranks=8", "model.path=x")
    need = trainer_memory(config, SEVEN, "cuda", "bfloat16")
    # half of DeepSpeed's reuse distance of 1e9 elements, 5e7 fetched ahead, and the head in use; 2 bytes each
    assert need.gathered == 2 * (500_000_000 + 50_000_000 + SEVEN.embedding)
    # the embedding, of 545 million, is larger than a bucket of 500 million and reduced alone
    left = (need.gathered + need.activations) * (SEVEN.parameters - SEVEN.embedding) // SEVEN.parameters
    assert need.reduction == left + 2 * SEVEN.embedding + 4 * SEVEN.embedding // 8  # and this rank's part in float32


def test_a_reference_policy_takes_memory_only_with_a_coefficient() -> None:
    def reference(coefficient: float) -> int:
        return trainer_memory(_config(f"algorithm.kl.coefficient={coefficient}"), SMOL, "cpu", "float32").reference
    assert (reference(0), reference(0.001)) == (0, 4 * SMOL.parameters)


def test_a_critic_has_one_output_for_a_vocabulary_and_no_reference() -> None:
    config = _config("algorithm.name=ppo", "algorithm.kl.coefficient=0.01", "trainer.ranks=4")
    untied = critic_memory(config, SEVEN, "cuda", "bfloat16", ranks=2)
    # less the output embedding of 152,064 x 3,584, and one weight a width and a bias; 2 bytes each, on 2 ranks
    count = SEVEN.parameters - 152_064 * 3_584 + 3_584 + 1  # odd: shares are rounded up
    assert (untied.parameters, untied.optimizer) == ((count + 1) // 2 * 2, (count + 1) // 2 * 12)
    assert (untied.reference, untied.exported) == (0, 0)
    tied = critic_memory(config, SMOL, "cpu", "float32", ranks=1)
    assert tied.parameters == 4 * (SMOL.parameters + 577)  # the embedding is read by the body
    policy = trainer_memory(config, SMOL, "cpu", "float32")
    assert (tied.activations, policy.reference > 0) == (policy.activations, True)
    # a layer's gradients, 2 x (1536 + 576) a token, are more than the head's float32 input and that's gradient
    assert tied.logits == 4 * 2 * (1536 + 576) * 4096 < policy.logits
    assert (tied.mapped, tied.packed) == (0, 0)


def test_key_value_heads_fewer_than_workers_are_repeated_not_split() -> None:
    # 2 (key, value) x 28 layers x 128 wide x 2 bytes = 14,336 a head; Qwen2.5-7B has 4 of them
    assert SEVEN.kv_bytes_per_token(bytes_per_element=2) == 4 * 14_336
    assert SEVEN.kv_bytes_per_token(bytes_per_element=2, tensor_parallel=4) == 14_336
    assert SEVEN.kv_bytes_per_token(bytes_per_element=2, tensor_parallel=8) == 14_336


def test_a_step_needs_the_cache_of_what_one_engine_samples_at_one_time() -> None:
    config = _config("rollout.engines=2", "rollout.prompts_per_step=8", "rollout.group_size=4",
                     "rollout.max_num_seqs=10", "rollout.max_prompt_tokens=100", "rollout.max_new_tokens=50")
    need = engine_memory(config, SMOL, "cpu", "float32", 0)
    assert need.step_tokens == 10 * 50 + 3 * 100  # 16 answers an engine, 10 at a time, of 3 prompts
