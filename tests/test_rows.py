"""Rows, micro-batches and the learning rate: the arithmetic around a step, without a model."""

import pytest

from reasongym.errors import TrainerError
from reasongym.training.rows import MicroBatch, Row, Sample, micro_batches, pack_rows, split_over_ranks
from reasongym.training.schedule import learning_rate


def sample(prompt: int, tokens: int, first: int = 7) -> Sample:
    return Sample(prompt_ids=tuple(range(first, first + prompt)), token_ids=(1,) * tokens, mask=(True,) * tokens)


def test_a_shared_prompt_is_counted_once_in_a_row() -> None:
    (row,) = pack_rows([sample(80, 30)] * 8, share_prompt=True, budget=1000)
    assert row.length == 80 + 8 * 30


def test_rows_stay_within_the_budget_and_lose_nobody() -> None:
    samples = [sample(80, 30)] * 8
    rows = pack_rows(samples, share_prompt=True, budget=150)  # 80 + 2 x 30 = 140, a third would be 170
    assert [len(row.samples) for row in rows] == [2, 2, 2, 2]
    assert [s for row in rows for s in row.samples] == samples


def test_different_prompts_never_share_a_row() -> None:
    rows = pack_rows([sample(5, 3, first=1), sample(5, 3, first=2)], share_prompt=True, budget=1000)
    assert len(rows) == 2


def test_a_sample_longer_than_the_budget_goes_alone_rather_than_being_dropped() -> None:
    rows = pack_rows([sample(80, 30), sample(80, 300), sample(80, 30)], share_prompt=True, budget=150)
    assert [[len(s.token_ids) for s in row.samples] for row in rows] == [[30], [300], [30]]


def test_micro_batches_pad_to_at_most_the_budget() -> None:
    rows = [Row((sample(10, n),)) for n in (5, 40, 7, 39, 6, 38)]
    batches = micro_batches(rows, budget=100)
    # Lengths 50, 49, 48, 17, 16, 15: two of 50 fill 100; then 48 + one more pads to 96; then 16 and 15.
    assert [[row.length for row in b.rows] for b in batches] == [[50, 49], [48, 17], [16, 15]]
    assert all(b.padded_tokens <= 100 for b in batches)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_every_rank_gets_equally_many_micro_batches_and_every_sample_lands_once(ranks: int) -> None:
    batches = [MicroBatch((Row((sample(10, n),)),)) for n in (5, 40, 7)]
    dealt = split_over_ranks(batches, ranks)
    assert len({len(d) for d in dealt}) == 1
    assert len(dealt) == ranks
    assert sorted(len(s.token_ids) for d in dealt for b in d for s in b.samples) == [5, 7, 40]


def test_without_a_micro_batch_each_rank_still_takes_part_in_the_step() -> None:
    assert split_over_ranks([], 2) == [[MicroBatch(())], [MicroBatch(())]]


def test_warm_up_starts_above_zero_and_reaches_the_peak_after_it() -> None:
    rates = [learning_rate(step, peak=1.0, steps=10, warmup_steps=3, schedule="constant", floor_ratio=0)
             for step in (1, 3, 4)]
    assert rates == [0.25, 0.75, 1.0]


@pytest.mark.parametrize(("schedule", "half"), [("linear", 0.55), ("cosine", 0.55)])
def test_decay_ends_near_its_floor(schedule: str, half: float) -> None:
    def rate(step: int) -> float:
        return learning_rate(step, peak=1.0, steps=10, warmup_steps=0, schedule=schedule, floor_ratio=0.1)  # type: ignore[arg-type]

    assert rate(1) == 1.0
    assert rate(6) == pytest.approx(half)  # half way: 0.1 + 0.9 x 0.5
    assert 0.1 < rate(10) < 0.2
    assert rate(99) == pytest.approx(0.1)


@pytest.mark.parametrize("name", ["train/loss", "train/grad_norm"])
def test_an_update_that_is_not_finite_stops_the_run(name: str) -> None:
    from reasongym.training.optimize import check_finite

    metrics = {"train/loss": 0.1, "train/grad_norm": 1.0}
    check_finite(metrics)
    with pytest.raises(TrainerError, match=f"{name} nan"):
        check_finite(metrics | {name: float("nan")})
