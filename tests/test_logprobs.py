"""Chunked log-probabilities: the values and gradients of plain log_softmax, without its memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from reasongym.algorithms.logprobs import token_logprobs

pytestmark = pytest.mark.stack

WIDTH, VOCABULARY = 4, 50


def inputs(num_tokens: int, dtype: torch.dtype = torch.float64,
           seed: int = 0) -> tuple[Tensor, Tensor, torch.nn.Linear]:
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(num_tokens, WIDTH, generator=generator, dtype=dtype).requires_grad_()
    head = torch.nn.Linear(WIDTH, VOCABULARY, bias=False, dtype=dtype)
    with torch.no_grad():
        head.weight.copy_(torch.randn(VOCABULARY, WIDTH, generator=generator, dtype=dtype))
    return hidden, torch.randint(VOCABULARY, (num_tokens,), generator=generator), head


def gradients(logprobs: Tensor, hidden: Tensor, head: torch.nn.Linear) -> tuple[Tensor, ...]:
    """Of a sum that weighs every token differently."""
    return torch.autograd.grad((logprobs * torch.arange(1.0, len(logprobs) + 1)).sum(), (hidden, head.weight))


class Memory(TorchDispatchMode):
    """Largest tensor made by any operation, and most bytes alive at once in tensors of a chunk's logits or more."""

    def __init__(self, chunk_elements: int) -> None:
        super().__init__()
        self.chunk_elements, self.largest, self.peak = chunk_elements, 0, 0
        self.alive: dict[int, tuple[StorageWeakRef, int]] = {}

    def __torch_dispatch__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for tensor in made if isinstance(made, tuple | list) else (made,):
            if isinstance(tensor, Tensor):
                self.largest = max(self.largest, tensor.numel())
                if tensor.numel() >= self.chunk_elements:
                    storage = StorageWeakRef(tensor.untyped_storage())
                    self.alive[storage.cdata] = (storage, tensor.untyped_storage().nbytes())
        self.alive = {key: entry for key, entry in self.alive.items() if not entry[0].expired()}
        self.peak = max(self.peak, sum(size for _, size in self.alive.values()))
        return made


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-10)])
@pytest.mark.parametrize("chunk_tokens", [1, 3, 7, 8])
def test_chunking_changes_neither_values_nor_gradients(dtype: torch.dtype, tolerance: float, chunk_tokens: int) -> None:
    hidden, targets, head = inputs(7, dtype)
    got = token_logprobs(hidden, targets, weight_VD=head.weight, temperature=0.7, chunk_tokens=chunk_tokens)
    plain = torch.log_softmax(head(hidden) / 0.7, -1)
    chosen = plain[torch.arange(7), targets]
    torch.testing.assert_close(got.logprobs_N, chosen, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(got.entropy_N, -(plain.exp() * plain).sum(-1).detach(), rtol=tolerance, atol=tolerance)
    for one, other in zip(gradients(got.logprobs_N, hidden, head), gradients(chosen, hidden, head), strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance * 10)  # gradients here reach 20


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**31), st.integers(0, 9), st.integers(1, 10), st.floats(0.2, 3))
def test_logprobs_and_entropy_agree_with_a_loop(seed: int, num_tokens: int, chunk: int, temperature: float) -> None:
    hidden, targets, head = inputs(num_tokens, seed=seed)
    with torch.no_grad():
        got = token_logprobs(hidden, targets, weight_VD=head.weight, temperature=temperature, chunk_tokens=chunk)
        rows = head(hidden).tolist()
    for n, row in enumerate(rows):
        weights = [math.exp(logit / temperature) for logit in row]
        probabilities = [weight / sum(weights) for weight in weights]
        assert got.logprobs_N[n].item() == pytest.approx(math.log(probabilities[targets[n]]), abs=1e-9)
        assert got.entropy_N[n].item() == pytest.approx(-sum(p * math.log(p) for p in probabilities), abs=1e-9)


def test_temperature_divides_the_logits() -> None:
    # logits [2, 1, 0] at T = .5 are [4, 2, 0]: minus log(e^4 + e^2 + 1) = 4.1429316.
    logits = torch.tensor([[2.0, 1.0, 0.0]]).expand(3, 3)
    got = token_logprobs(logits, torch.arange(3), weight_VD=torch.eye(3), temperature=0.5, chunk_tokens=2)
    assert got.logprobs_N.tolist() == pytest.approx([-0.1429316, -2.1429316, -4.1429316], abs=1e-6)


def test_bfloat16_head_is_read_in_float32() -> None:
    hidden, targets, head = inputs(6, torch.bfloat16)
    got = token_logprobs(hidden, targets, weight_VD=head.weight, temperature=1.0, chunk_tokens=4)
    assert got.logprobs_N.dtype == got.entropy_N.dtype == torch.float32
    exact = torch.log_softmax(head(hidden).double(), -1)[torch.arange(6), targets]
    torch.testing.assert_close(got.logprobs_N.double(), exact, rtol=0, atol=1e-6)  # bfloat16 would be off by 1e-2
    assert gradients(got.logprobs_N, hidden, head)[0].dtype == torch.bfloat16


@pytest.mark.parametrize("chunk_tokens", [8, 16])
def test_no_tensor_exceeds_a_chunk_forward_or_backward(chunk_tokens: int) -> None:
    hidden, targets, head = inputs(64, torch.float32)
    with Memory(chunk_tokens * VOCABULARY) as memory:
        got = token_logprobs(hidden, targets, weight_VD=head.weight, temperature=0.7, chunk_tokens=chunk_tokens)
        gradients(got.logprobs_N, hidden, head)
    assert memory.largest == chunk_tokens * VOCABULARY  # all at once: 64 x 50


@pytest.mark.parametrize(("dtype", "size"), [(torch.float32, 8), (torch.bfloat16, 10)])
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("gradient", ["none", "logprobs", "both"])
def test_memory_does_not_grow_with_the_number_of_chunks(dtype: torch.dtype, size: int, with_bias: bool,
                                                        gradient: str) -> None:
    """size: bytes a logit. In float32 the logits, and their exponentials; a head of another dtype gives and takes its
    own beside them."""
    # What is kept for the backward pass is a number a token; with a chunk's logits the peak would grow with N.
    peaks = []
    for num_chunks in (2, 12):  # of 12 the gradient of the hidden states is still smaller than a chunk's logits
        hidden, targets, head = inputs(8 * num_chunks, dtype)
        bias = torch.ones(VOCABULARY, dtype=dtype, requires_grad=True) if with_bias else None
        with Memory(8 * VOCABULARY) as memory, torch.set_grad_enabled(gradient != "none"):
            got = token_logprobs(hidden, targets, weight_VD=head.weight, bias_V=bias, temperature=0.7, chunk_tokens=8,
                                 entropy_gradient=gradient == "both")
            if gradient != "none":
                gradients(got.logprobs_N + got.entropy_N, hidden, head)
        peaks.append(memory.peak)
    assert peaks == [size * 8 * VOCABULARY] * 2


class Calls(TorchDispatchMode):
    """Operations by name, and the number of rows that each product with the head's weights read."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.read: list[int] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        if func is torch.ops.aten.mm.out and args[1].shape == (WIDTH, VOCABULARY):
            self.read.append(len(args[0]))
        return func(*args, **(kwargs or {}))


def test_the_head_is_read_by_chunks_and_again_for_the_backward_pass_alone() -> None:
    hidden, targets, head = inputs(7)
    with Calls() as calls:
        got = token_logprobs(hidden, targets, weight_VD=head.weight, temperature=1.0, chunk_tokens=3)
        assert calls.read == [3, 3, 1]
        got.logprobs_N.sum().backward()
    assert calls.read == [3, 3, 1] * 2
    with Calls() as calls, torch.no_grad():
        got = token_logprobs(hidden, targets, weight_VD=head.weight, temperature=1.0, chunk_tokens=3)
    assert not got.logprobs_N.requires_grad
    assert calls.read == [3, 3, 1]


def test_the_backward_pass_reads_the_vocabulary_once_an_operation_and_makes_no_room_a_chunk() -> None:
    hidden, targets, head = inputs(8)
    got = token_logprobs(hidden, targets, weight_VD=head.weight, temperature=1.0, chunk_tokens=4)
    assert not got.entropy_N.requires_grad
    with Calls() as calls:
        got.logprobs_N.sum().backward()
    counted = {name: calls.names.count(f"aten.{name}") for name in ("exp_.default", "exp.out", "clamp_.default")}
    assert counted == {"exp_.default": 2, "exp.out": 0, "clamp_.default": 0}  # the entropy is not computed again
    assert calls.names.count("aten.new_empty.default") == 2  # for two chunks


@pytest.mark.parametrize("chunk_tokens", [2, 5])
@pytest.mark.parametrize("entropy_gradient", [False, True])
def test_gradients_are_those_of_finite_differences(chunk_tokens: int, entropy_gradient: bool) -> None:
    hidden, targets, head = inputs(5)
    bias = torch.linspace(-1, 1, VOCABULARY, dtype=torch.float64, requires_grad=True)

    def both(hidden_ND: Tensor, weight_VD: Tensor, bias_V: Tensor) -> tuple[Tensor, ...]:
        got = token_logprobs(hidden_ND, targets, weight_VD=weight_VD, bias_V=bias_V, temperature=0.7,
                             chunk_tokens=chunk_tokens, entropy_gradient=entropy_gradient)
        return tuple(got) if entropy_gradient else got[:1]

    assert torch.autograd.gradcheck(both, (hidden, head.weight, bias))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_a_bias_moves_the_logits(dtype: torch.dtype) -> None:
    hidden, targets, head = inputs(3, dtype)
    bias = torch.zeros(VOCABULARY, dtype=dtype).index_fill(0, targets[:1], 2.0)
    got = token_logprobs(hidden, targets, weight_VD=head.weight, bias_V=bias, temperature=0.5, chunk_tokens=2)
    logits = torch.nn.functional.linear(hidden, head.weight, bias)
    plain = torch.log_softmax(logits.double() / 0.5, -1)[torch.arange(3), targets]
    torch.testing.assert_close(got.logprobs_N.double(), plain, rtol=0, atol=1e-12 if dtype == torch.float64 else 1e-5)


def test_a_head_of_another_dtype_is_refused() -> None:
    hidden, targets, head = inputs(3, torch.bfloat16)
    with pytest.raises(AssertionError, match=r"a head of torch\.float32"):
        token_logprobs(hidden, targets, weight_VD=head.weight.float(), temperature=1.0, chunk_tokens=2)


@pytest.mark.parametrize("chunk_tokens", [7, 100])
def test_gradients_of_a_bfloat16_head_are_as_good_as_those_of_all_logits_at_once(chunk_tokens: int) -> None:
    hidden, targets, head = inputs(100, torch.bfloat16)
    got = token_logprobs(hidden, targets, weight_VD=head.weight, temperature=0.7, chunk_tokens=chunk_tokens)
    plain = torch.log_softmax(head(hidden).float() / 0.7, -1)[torch.arange(100), targets]
    exact = inputs(100)
    exact[0].data.copy_(hidden)
    exact[2].weight.data.copy_(head.weight)
    true = torch.log_softmax(exact[2](exact[0]) / 0.7, -1)[torch.arange(100), targets]
    for ours, theirs, best in zip(gradients(got.logprobs_N, hidden, head), gradients(plain, hidden, head),
                                  gradients(true, exact[0], exact[2]), strict=True):
        assert (ours.double() - best).norm() < 1.2 * (theirs.double() - best).norm() < 0.01 * best.norm()


def test_no_tokens_still_reach_the_head_and_the_graph() -> None:
    hidden, targets, head = inputs(0)
    got = token_logprobs(hidden, targets, weight_VD=head.weight, temperature=1.0, chunk_tokens=4)
    assert got.logprobs_N.shape == got.entropy_N.shape == (0,)
    got.logprobs_N.sum().backward()
    assert hidden.grad is not None
    assert torch.equal(head.weight.grad, torch.zeros(VOCABULARY, WIDTH, dtype=torch.float64))


@pytest.mark.parametrize("entropy_gradient", [False, True])
def test_impossible_token_does_not_make_the_entropy_nan(entropy_gradient: bool) -> None:
    bias = torch.tensor([0.0, 0.0, -math.inf], requires_grad=True)
    got = token_logprobs(torch.zeros(1, 2), torch.tensor([0]), weight_VD=torch.zeros(3, 2), bias_V=bias,
                         temperature=1.0, chunk_tokens=4, entropy_gradient=entropy_gradient)
    (got.logprobs_N.sum() + entropy_gradient * 7.0 * got.entropy_N.sum()).backward()
    assert got.entropy_N.item() == pytest.approx(math.log(2))
    assert bias.grad is not None
    assert bias.grad.tolist() == pytest.approx([0.5, -0.5, 0.0])  # onehot - p; two equal ones have the most entropy


def test_head_trains_while_the_hidden_states_are_frozen() -> None:
    hidden, targets, head = inputs(5)
    got = token_logprobs(hidden.detach(), targets, weight_VD=head.weight, temperature=1.0, chunk_tokens=2)
    got.logprobs_N.sum().backward()
    assert head.weight.grad.any()
