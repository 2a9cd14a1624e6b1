"""New weights prepared beside those in use: where that is allowed, and that nothing changes before the swap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the training stack is not installed")

from packed_layers import Model  # noqa: E402

from reasongym.sync.checksums import digest  # noqa: E402
from reasongym.sync.in_use import digests  # noqa: E402
from reasongym.sync.staging import Probe, StagedWeights, _joined  # noqa: E402


def sent(seed: int) -> dict[str, Any]:
    """A checkpoint of the model, in one piece of memory, as a bucket holds it."""
    torch.manual_seed(seed)
    shapes = {"embed.weight": (10, 6), "attention.q_proj.weight": (4, 300), "attention.k_proj.weight": (2, 300),
              "attention.v_proj.weight": (2, 300), "norm.weight": (5,)}
    flat = torch.randn(sum(torch.Size(shape).numel() for shape in shapes.values()))
    pieces = flat.split([torch.Size(shape).numel() for shape in shapes.values()])
    return {name: piece.view(shape) for (name, shape), piece in zip(shapes.items(), pieces, strict=True)}


def loaded(model: Any, tensors: dict[str, Any]) -> None:
    """What the model's own loader does."""
    staged = StagedWeights(model)
    staged.add(tensors)
    staged.swap()


def probed(change: Callable[[dict[str, Any]], dict[str, Any]]) -> bool:
    """Whether a model may be staged whose loader makes `change` of what it is sent."""
    model, probe, tensors = Model(), Probe(), sent(1)
    probe.saw(tensors)
    loaded(model, change(dict(tensors)))
    return probe.holds(model)


def swapped(tensors: dict[str, Any], first: str, second: str) -> dict[str, Any]:
    return tensors | {first: tensors[second], second: tensors[first]}


def test_a_model_that_keeps_its_weights_as_they_are_sent_may_be_staged() -> None:
    assert probed(lambda tensors: tensors)


@pytest.mark.parametrize("change", [
    lambda tensors: swapped(tensors, "attention.k_proj.weight", "attention.v_proj.weight"),
    lambda tensors: tensors | {"norm.weight": tensors["norm.weight"] + 1},
    lambda tensors: tensors | {"embed.weight": tensors["embed.weight"].flip(0)},
    lambda tensors: tensors | {"attention.q_proj.weight": tensors["attention.q_proj.weight"].flip(1)},
], ids=["other order", "other values", "other rows", "other columns"])
def test_a_model_whose_loader_makes_something_else_of_them_may_not(change: Any) -> None:
    assert not probed(change)


@pytest.mark.parametrize("name", ["norm.weight", "attention.k_proj.weight", "embed.weight"])
def test_nor_one_that_has_parameters_which_are_never_sent(name: str) -> None:
    model, probe, tensors = Model(), Probe(), sent(1)
    loaded(model, tensors)
    probe.saw({other: tensor for other, tensor in tensors.items() if other != name})
    assert not probe.holds(model)
    probe.saw({name: tensors[name]})
    assert probe.holds(model)
    probe.saw({"visual.weight": torch.ones(3)})
    assert not probe.holds(model)


def test_a_model_that_names_its_input_width_otherwise_is_not_read_past_its_end() -> None:
    model, probe = Model(), Probe()
    tensors = sent(1) | {"embed.weight": torch.randn(6, 10)}
    probe.saw(tensors)
    assert not probe.holds(model)


def test_the_model_computes_with_the_old_weights_until_the_swap_and_with_all_new_ones_after_it() -> None:
    model, old, new = Model(), sent(1), sent(2)
    loaded(model, old)
    staged = StagedWeights(model)
    staged.add(new)
    assert digests(model) == {name: digest(tensor) for name, tensor in old.items()}
    staged.swap()
    assert digests(model) == {name: digest(tensor) for name, tensor in new.items()}
    assert model.lm_head.cpu_linear is model.embed.cpu_linear  # one packed copy for a tied head


@pytest.mark.parametrize("order", [
    ["embed.weight", "attention.q_proj.weight", "|", "attention.k_proj.weight", "attention.v_proj.weight",
     "norm.weight"],
    ["attention.v_proj.weight", "|", "norm.weight", "attention.q_proj.weight", "|", "embed.weight",
     "attention.k_proj.weight"]], ids=["two buckets", "three, in another order"])
def test_buckets_may_be_overwritten_as_soon_as_they_are_read(order: list[str]) -> None:
    model, new = Model(), sent(2)
    expected = {name: digest(tensor) for name, tensor in new.items()}
    staged, bucket = StagedWeights(model), dict[str, Any]()
    for name in [*order, "|"]:
        if name != "|":
            bucket[name] = new[name].clone()
            continue
        staged.add(bucket)
        for tensor in bucket.values():
            tensor.fill_(9.0)
        bucket = {}
    staged.swap()
    assert digests(model) == expected


def test_an_update_that_lacks_a_part_changes_nothing() -> None:
    model, old, new = Model(), sent(1), sent(2)
    loaded(model, old)
    staged = StagedWeights(model)
    staged.add({name: tensor for name, tensor in new.items() if "v_proj" not in name})
    with pytest.raises(RuntimeError, match=r"1 parameters.*k_proj"):
        staged.swap()
    assert digests(model) == {name: digest(tensor) for name, tensor in old.items()}


def test_a_tensor_without_a_place_is_an_error() -> None:
    with pytest.raises(RuntimeError, match=r"no parameter of the model is made of extra\.weight"):
        StagedWeights(Model()).add({"extra.weight": torch.ones(2)})


def test_parts_that_lie_on_top_of_one_another_are_not_copied() -> None:
    parts = [tensor for name, tensor in sent(1).items() if "attention" in name]
    joined = _joined(parts)
    assert joined.data_ptr() == parts[0].data_ptr()
    assert torch.equal(joined, torch.cat(parts))
    apart = [parts[0], parts[2], parts[1]]
    assert torch.equal(_joined(apart), torch.cat(apart))


def test_what_an_update_takes_out_of_use_is_written_over_by_the_next_and_nothing_else_is() -> None:
    model, spare = Model(), dict[int, Any]()
    loaded(model, sent(0))
    places = [model.norm.weight.data_ptr()]
    for seed in (1, 2, 3):
        staged, tensors = StagedWeights(model, spare), sent(seed)
        used = model.norm.weight.data.clone()
        staged.add(tensors)
        assert torch.equal(model.norm.weight.data, used)
        staged.swap()
        assert torch.equal(model.norm.weight.data, tensors["norm.weight"])
        assert torch.equal(model.embed.weight.data, tensors["embed.weight"])
        places.append(model.norm.weight.data_ptr())
    assert places[2:] == places[:2]


def test_an_update_that_is_given_up_takes_no_memory_from_those_in_use() -> None:
    model, spare = Model(), dict[int, Any]()
    for seed in (1, 2):
        staged = StagedWeights(model, spare)
        staged.add(sent(seed))
        staged.swap()
    StagedWeights(model, spare).add(sent(3))
    assert torch.equal(model.embed.weight.data, sent(2)["embed.weight"])
    staged = StagedWeights(model, spare)
    staged.add(sent(4))
    assert torch.equal(model.embed.weight.data, sent(2)["embed.weight"])
    staged.swap()
    assert torch.equal(model.embed.weight.data, sent(4)["embed.weight"])
