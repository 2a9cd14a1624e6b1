"""KL estimates: their values, what their gradients are gradients of, and what lies under the mask."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from reasongym.algorithms.kl import adapted, kl_BT

pytestmark = pytest.mark.stack

ESTIMATORS = ("k1", "k2", "k3", "k3+")


def one_row(values: list[float], dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.tensor([values], dtype=dtype)


def estimate(logprobs: Tensor, reference: Tensor, estimator: str) -> Tensor:
    return kl_BT(logprobs_BT=logprobs, reference_logprobs_BT=reference,
                 mask_BT=torch.ones_like(logprobs, dtype=torch.bool), estimator=estimator)


@pytest.mark.parametrize(("estimator", "expected"), [
    ("k1", [0.2, -0.2, 0.0]),
    ("k2", [0.02, 0.02, 0.0]),  # .2^2 / 2
    ("k3", [0.0187308, 0.0214028, 0.0]),  # e^-.2 - 1 + .2 and e^.2 - 1 - .2
    ("k3+", [0.0187308, 0.0214028, 0.0])])
def test_values_and_direction(estimator: str, expected: list[float]) -> None:
    got = estimate(one_row([-0.5, -1, -2]), one_row([-0.7, -0.8, -2]), estimator)
    assert got[0].tolist() == pytest.approx(expected, abs=1e-7)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.floats(-20, 0), st.floats(-20, 0), st.booleans()), min_size=1, max_size=8),
       st.sampled_from(ESTIMATORS))
def test_estimates_agree_with_a_loop(tokens: list[tuple[float, float, bool]], estimator: str) -> None:
    logprobs, reference, mask = zip(*tokens, strict=True)
    got = kl_BT(logprobs_BT=one_row(list(logprobs)), reference_logprobs_BT=one_row(list(reference)),
                mask_BT=torch.tensor([mask]), estimator=estimator)
    for value, (a, b, trainable) in zip(got[0].tolist(), tokens, strict=True):
        d = a - b
        slow = {"k1": d, "k2": d * d / 2}.get(estimator, math.exp(-d) - 1 + d)
        assert value == pytest.approx(slow if trainable else 0.0, rel=1e-9, abs=1e-9)
        assert estimator == "k1" or value >= -1e-15


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf, 1e4])
def test_nothing_under_the_mask_matters(estimator: str, poison: float) -> None:
    logprobs = one_row([-0.5, poison]).requires_grad_()
    got = kl_BT(logprobs_BT=logprobs, reference_logprobs_BT=one_row([-0.7, -poison]),
                mask_BT=torch.tensor([[True, False]]), estimator=estimator)
    got.sum().backward()
    assert got[0, 1].item() == 0.0
    assert logprobs.grad[0, 1].item() == 0.0
    # d/da: k1 1; k2 and k3+ a - b = .2; k3 1 - e^-.2.
    slope = {"k1": 1.0, "k2": 0.2, "k3": 1 - math.exp(-0.2), "k3+": 0.2}[estimator]
    assert logprobs.grad[0, 0].item() == pytest.approx(slope)


def test_reference_gets_no_gradient() -> None:
    reference = one_row([-0.7]).requires_grad_()
    estimate(one_row([-0.5]).requires_grad_(), reference, "k3").sum().backward()
    assert reference.grad is None


def test_large_drift_is_not_clamped() -> None:
    far, near = one_row([100.0]), one_row([0.0])
    # k2 100^2 / 2; k3 e^-100 - 1 + 100, and the other way e^100 - 1 - 100.
    up, down = 99.0, math.exp(100) - 101
    assert [estimate(far, near, e).item() for e in ESTIMATORS] == pytest.approx([100.0, 5000.0, up, up])
    assert [estimate(near, far, e).item() for e in ESTIMATORS] == pytest.approx([-100.0, 5000.0, down, down])
    for estimator in ("k3", "k3+"):  # loud, where a clamp would hide it
        assert estimate(near.float(), far.float(), estimator).item() == math.inf


def test_small_drift_keeps_its_digits_in_float32() -> None:
    # d^2 / 2 of 1e-3 is 5e-7; exp(-d) - 1 without expm1 is wrong by 6e-8 there, an eighth of it.
    got = estimate(one_row([1e-3], torch.float32), one_row([0.0], torch.float32), "k3").item()
    assert got == pytest.approx(4.998334e-7, rel=1e-3)


def test_expected_gradients_are_those_the_docstring_names() -> None:
    # Over a vocabulary of four the expectation is a sum, so each claim is exact.
    logits = torch.tensor([0.3, -0.2, 0.9, 0.1], dtype=torch.float64, requires_grad=True)
    reference = torch.log_softmax(torch.tensor([0.0, 0.5, -0.4, 0.2], dtype=torch.float64), -1)

    def gradient(loss: Tensor) -> Tensor:
        return torch.autograd.grad(loss, logits)[0]

    logprobs = torch.log_softmax(logits, -1)
    reverse = gradient((logprobs.exp() * (logprobs - reference)).sum())
    logprobs = torch.log_softmax(logits, -1)
    forward = gradient((reference.exp() * (reference - logprobs)).sum())
    expected = {"k1": torch.zeros(4, dtype=torch.float64), "k2": reverse, "k3": forward, "k3+": reverse}
    for estimator, exact in expected.items():
        logprobs = torch.log_softmax(logits, -1)
        sampled = logprobs.detach().exp() * estimate(logprobs[None], reference[None], estimator)[0]
        torch.testing.assert_close(gradient(sampled.sum()), exact, rtol=0, atol=1e-12)


@settings(deadline=None, max_examples=30)
@given(st.floats(-60, 60))
def test_k3_plus_has_the_value_of_k3_to_the_bit_and_the_gradient_of_k2(drift: float) -> None:
    def both(estimator: str) -> tuple[float, float]:
        logprobs = one_row([drift], torch.float32).requires_grad_()
        value = estimate(logprobs, one_row([0.0], torch.float32), estimator)
        return value.item(), torch.autograd.grad(value.sum(), logprobs)[0].item()

    assert both("k3+") == (both("k3")[0], both("k2")[1])


@pytest.mark.parametrize(("kl", "expected"), [
    (0.2, 0.204),  # twice the target: 1 held at .2; .2 x (1 + .2 x 10 / 100)
    (0.11, 0.202),  # .11 / .1 - 1 = .1
    (0.1, 0.2),
    (0.05, 0.196), (0.0, 0.196), (-3.0, 0.196), (math.inf, 0.204)])  # -.5 and beyond are held at -.2
def test_coefficient_follows_the_kl_by_bounded_steps(kl: float, expected: float) -> None:
    assert adapted(0.2, kl=kl, target=0.1, horizon=100, num_samples=10) == pytest.approx(expected, rel=1e-12)


def test_coefficient_of_two_steps_is_that_of_their_samples_about() -> None:
    # Proportional to samples and not to steps: 1.002 x 1.002 = 1.004004 for 1.004.
    twice = 0.2
    for _ in range(2):
        twice = adapted(twice, kl=1.0, target=0.1, horizon=1000, num_samples=10)
    assert twice == pytest.approx(0.2 * 1.004004, rel=1e-12)
    assert adapted(0.2, kl=1.0, target=0.1, horizon=1000, num_samples=20) == pytest.approx(0.2 * 1.004, rel=1e-12)


@pytest.mark.parametrize(("kl", "target", "horizon"), [
    (math.nan, 0.1, 100), (0.1, 0.0, 100), (0.1, -0.1, 100),
    (0.0, 0.1, 2.0)])  # 10 samples of a horizon of 2: 1 - .2 x 5 = 0, and a coefficient of 0 never moves again
def test_control_that_would_lose_the_coefficient_is_refused(kl: float, target: float, horizon: float) -> None:
    with pytest.raises(ValueError, match=r"number|target above 0 and a horizon above 2"):
        adapted(0.2, kl=kl, target=target, horizon=horizon, num_samples=10)
