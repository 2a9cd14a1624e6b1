"""Ranks that hold each layer together: what leaves them is whole, what is read back comes to its part, and what cannot
be divided is refused. That a step is that of one rank, `test_large_models.py` shows of a Llama."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch", reason="the training stack is not installed")

from test_large_models import Probe, Ranks, on_a_gpu, rank_settings  # noqa: E402

from reasongym.config.policy_gradient import CriticConfig  # noqa: E402
from reasongym.errors import ModelError  # noqa: E402
from reasongym.planning import KNOWN_SHAPES  # noqa: E402
from reasongym.training.critic import critic_settings  # noqa: E402
from reasongym.training.tensor_parallel import check_layers, layers_of  # noqa: E402

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]

SEVEN = KNOWN_SHAPES["Qwen/Qwen2.5-7B-Instruct"]
LLAMA = {"layers.*.self_attn.q_proj": "colwise", "layers.*.self_attn.o_proj": "rowwise"}


class Parts(Probe):
    """Shows what a rank would write of the weights, and renews its reference."""

    def parts(self, whole: bool) -> dict[str, tuple[int, Any]]:
        names = [name for bucket in self._bucket_names() for name in bucket]
        with self._shares(names, whole=whole) as shares:
            return {name: (share.start, share.values.clone()) for name, share in shares.items()}

    def held(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters())


class Found(NamedTuple):
    """After two steps: the weights that a rank by itself has, and two ranks that hold each layer together."""

    expected: Mapping[str, Any]
    ranks: Ranks
    exported: Mapping[str, Any]


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Path:
    """With norms over heads, whose gradient each rank has a part of, biases, and a head that is not tied."""
    from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM

    folder = tmp_path_factory.mktemp("qwen")
    torch.manual_seed(0)
    config = Qwen3Config(vocab_size=49152, hidden_size=32, intermediate_size=48, num_hidden_layers=2, head_dim=8,
                         num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512,
                         attention_bias=True, tie_word_embeddings=False)
    model = Qwen3ForCausalLM(config)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(parameter)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def found(qwen: Path, ray_here: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Found]:
    alone = Ranks(qwen, 1, kind=Parts)
    try:
        expected = after_two_steps(alone, qwen, tmp_path_factory.mktemp("alone"))
    finally:
        alone.group.close()
    ranks = Ranks(qwen, 2, tensor_parallel=2, kind=Parts)
    try:
        yield Found(expected, ranks, after_two_steps(ranks, qwen, tmp_path_factory.mktemp("two")))
    finally:
        ranks.group.close()


def after_two_steps(ranks: Ranks, model: Path, target: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    for share_prompt in (True, False):
        ranks.step(share_prompt=share_prompt)
    ranks.group.call("export", str(target), str(model))
    return load_file(target / "model.safetensors")


@pytest.mark.slow
def test_the_weights_after_two_steps_are_those_of_one_rank(found: Found) -> None:
    assert found.exported.keys() == found.expected.keys()
    for name, values in found.expected.items():  # each of two steps of Adam moves a weight by up to 1e-3
        torch.testing.assert_close(found.exported[name], values, rtol=0, atol=1e-4, msg=name)


@pytest.mark.slow
def test_a_rank_holds_half_of_each_layer_and_no_more(found: Found) -> None:
    whole = sum(values.numel() for values in found.exported.values())
    outside = 2 * 49152 * 32
    for held in found.ranks.group.call("held"):
        assert outside + (whole - outside) / 2 <= held < outside + (whole - outside) * 0.55  # norms are whole


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, True], ids=["each a part", "rank 0 everything"])
def test_engines_are_sent_every_element_once(found: Found, whole: bool) -> None:
    parts: Sequence[dict[str, tuple[int, Any]]] = found.ranks.group.call("parts", whole)
    for name, values in found.exported.items():
        flat = torch.full((values.numel(),), float("nan"))
        for start, own in (part[name] for part in parts):
            assert flat[start:start + len(own)].isnan().all(), f"two ranks write the same of {name}"
            flat[start:start + len(own)] = own
        assert torch.equal(flat.view(values.shape), values), name


@pytest.mark.slow
def test_a_reference_is_renewed_and_a_checkpoint_read_part_by_part(found: Found, tmp_path: Path) -> None:
    """Last, as it trains on."""
    group, before = found.ranks.group, found.ranks.logprobs("logprobs")
    assert before != found.ranks.logprobs("reference_logprobs")
    group.call("renew_reference")
    assert before == found.ranks.logprobs("reference_logprobs")
    group.call("save", str(tmp_path))
    found.ranks.step(share_prompt=True)
    group.call("renew_reference")
    after = found.ranks.logprobs("logprobs")
    assert after != before, "the step changed weights that the layers no longer read"
    assert after == found.ranks.logprobs("reference_logprobs")
    group.call("load", str(tmp_path))
    assert before == found.ranks.logprobs("logprobs")
    assert before == found.ranks.logprobs("reference_logprobs")
    found.ranks.step(share_prompt=True)
    again = found.ranks.logprobs("logprobs")
    for tokens, values in after.items():  # the optimizer's state was read as well
        assert again[tokens] == pytest.approx(values, abs=1e-4)


@pytest.mark.parametrize(("plan", "text"), [
    (None, "no plan"),
    ({"embed_tokens": "embedding_rowwise"}, "no plan"),
    (LLAMA | {"layers.*.mlp.gate_up_proj": "colwise_gather_output"}, "colwise_gather_output"),
])
def test_layers_that_would_be_divided_in_part_or_by_guessing_are_refused(plan: Any, text: str) -> None:
    with pytest.raises(ModelError, match=text):
        layers_of(plan, name="m")


def test_the_name_of_one_layer_does_not_stand_for_others() -> None:
    import re

    (pattern,) = layers_of({"layers.*.q_proj": "colwise"}, name="m")[0]["patterns"]
    assert re.match(pattern, "model.model.layers.11.q_proj.weight")
    for other in ("model.model.layers.1.other.q_proj.weight", "model.model.layers.1xq_proj.weight",
                  "model.model.layers.1.q_proj.bias"):
        assert not re.match(pattern, other)


def test_heads_that_do_not_divide_are_refused_before_anything_starts(qwen: Path) -> None:
    check_layers(str(qwen), 2, trust_remote_code=False)
    with pytest.raises(ModelError, match="4 ranks for num_key_value_heads 2"):
        check_layers(str(qwen), 4, trust_remote_code=False)


def test_a_critics_ranks_hold_whole_layers_and_are_no_teams() -> None:
    policy = rank_settings(Path("m"), 4, tensor_parallel=2)
    assert (policy.team_size, policy.teams) == (2, 2)
    critic = critic_settings(policy, CriticConfig(ranks=3))
    assert (critic.zero.tensor_parallel, critic.team_size, critic.teams) == (1, 1, 3)


def test_the_plan_divides_layers_and_nothing_else() -> None:
    whole = on_a_gpu("trainer.ranks=4", "trainer.zero_stage=2")
    held = on_a_gpu("trainer.ranks=4", "trainer.zero_stage=2", "trainer.tensor_parallel=4")
    outside = 2 * SEVEN.embedding
    assert held.parameters == 2 * (outside + -(-(SEVEN.parameters - outside) // 4))
    assert held.optimizer == 12 * held.parameters // 2, "teams count as one rank, so nothing is left to share out"
    assert held.activations < whole.activations < 4 * held.activations  # hidden states are whole on every rank
    assert held.exported == whole.exported
    assert held.packed > whole.packed  # what is sent is put together in a copy


def test_a_single_number_that_zero_3_shares_out_keeps_its_empty_shape() -> None:
    from reasongym.training.zero import full_shape

    parameter = torch.nn.Parameter(torch.empty(0))
    parameter.ds_shape = torch.Size([])  # type: ignore[attr-defined]
    assert full_shape(parameter) == ()
