"""Numbers a token are held as arrays, and cross to another process as their bytes."""

from __future__ import annotations

import pickle
from array import array
from dataclasses import replace

import pytest

from reasongym.arrays import flags, floats, integers
from reasongym.records import Completion, FinishReason
from reasongym.training.rows import Sample

COMPLETION = Completion(token_ids=tuple(range(1000)), logprobs=tuple(-1 / n for n in range(1, 1001)),
                        mask=(True,) * 1000, versions=(3,) * 1000, text="so it is \ud800", seed=2**62, engine=7,
                        finish_reason=FinishReason.LENGTH, seconds=0.25)


def test_an_array_of_the_right_kind_is_not_copied_and_another_is() -> None:
    assert all(make(made := make([1, 0])) is made for make in (flags, floats, integers))
    assert integers(flags([True, False])) == array("i", [1, 0])


def test_a_token_without_room_is_refused_instead_of_wrapped() -> None:
    with pytest.raises(OverflowError):
        integers([2**31])


@pytest.mark.parametrize("completion", [
    COMPLETION,
    replace(COMPLETION, versions=(3,) * 999 + (4,)),
    replace(COMPLETION, mask=(True, False) * 500),
    replace(COMPLETION, token_ids=(), logprobs=(), mask=(), versions=()),
], ids=["plain", "two versions", "tool turns", "empty"])
def test_a_completion_is_the_same_behind_a_pickle(completion: Completion) -> None:
    found = pickle.loads(pickle.dumps(completion, protocol=5))
    assert found == completion
    assert {type(found.token_ids), type(found.logprobs), type(found.mask), type(found.versions)} == {array}
    assert type(found.finish_reason) is FinishReason


def test_a_completion_of_sequences_that_differ_in_length_is_refused() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        replace(COMPLETION, mask=(True,))


def test_a_sample_is_the_same_behind_a_pickle() -> None:
    sample = Sample(prompt_ids=(1, 2), token_ids=(3, 4), mask=(True, True), desirable=True,
                    columns={"advantages": (0.5, 0.5), "returns": [0.5, 0.5], "engine_logprobs": (-1.0, -2.0)})
    assert pickle.loads(pickle.dumps(sample, protocol=5)) == sample


def test_a_token_costs_its_bytes_on_the_way_and_no_more() -> None:
    words = 4 + 4 + 1 + 4  # id, log-probability, mask, version
    assert len(pickle.dumps(COMPLETION, protocol=5)) < words * 1000 + 600
