"""Checkpoints: whole or absent, checked when read, and the previous one stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reasongym.errors import CheckpointError, ResourceError
from reasongym.training.checkpoints import Checkpoints, LoopState
from reasongym.training.model_files import model_fingerprint


def checkpoints(folder: Path, **changes: object) -> Checkpoints:
    settings = {"keep_last": 2, "keep_best": True, "fits": {"model": "m", "ranks": 1}} | changes
    return Checkpoints(folder, **settings)  # type: ignore[arg-type]


def write_weights(folder: str) -> None:
    (Path(folder) / "state").mkdir()
    (Path(folder) / "state" / "weights.bin").write_bytes(bytes(range(256)))


STATE = LoopState(step=10, position=60, updates=10, version=10, best_reward=0.5, best_step=10)


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    checkpoints(tmp_path).save(STATE, write_weights)
    state, path = checkpoints(tmp_path).load()
    assert state == STATE
    assert (path / "state" / "weights.bin").read_bytes() == bytes(range(256))


def test_a_flipped_byte_is_named_and_the_earlier_checkpoint_offered(tmp_path: Path) -> None:
    store = checkpoints(tmp_path)
    store.save(STATE, write_weights)
    store.save(replace(STATE, step=20), write_weights)
    damaged = store.path(20) / "state" / "weights.bin"
    damaged.write_bytes(b"\xff" + damaged.read_bytes()[1:])
    with pytest.raises(CheckpointError, match=r"(?s)step-000020 is damaged.*weights\.bin.*--resume-from 10"):
        store.load()
    assert store.load(10)[0] == STATE


@pytest.mark.parametrize("lost", ["state/weights.bin", "loop.json", "seal.json"])
def test_a_missing_file_is_an_error_not_a_fresh_start(tmp_path: Path, lost: str) -> None:
    store = checkpoints(tmp_path)
    (store.save(STATE, write_weights) / lost).unlink()
    with pytest.raises(CheckpointError, match="damaged"):
        store.load()


def test_a_full_disk_leaves_the_earlier_checkpoint_and_no_scraps(tmp_path: Path) -> None:
    store = checkpoints(tmp_path)
    store.save(STATE, write_weights)

    def full(folder: str) -> None:
        write_weights(folder)
        raise OSError(28, "No space left on device")

    with pytest.raises(ResourceError, match="No space left"):
        store.save(replace(STATE, step=20), full)
    assert [p.name for p in tmp_path.iterdir()] == ["step-000010"]
    assert store.load()[0] == STATE


def test_a_process_killed_while_saving_leaves_nothing_that_looks_complete(tmp_path: Path) -> None:
    store = checkpoints(tmp_path)
    store.save(STATE, write_weights)
    (tmp_path / ".step-000020.tmp").mkdir()  # what SIGKILL leaves
    assert store.steps() == [10]
    store.save(replace(STATE, step=20), write_weights)
    assert store.steps() == [10, 20]


def test_a_checkpoint_of_another_world_size_is_refused(tmp_path: Path) -> None:
    checkpoints(tmp_path).save(STATE, write_weights)
    with pytest.raises(CheckpointError, match=r"(?s)ranks: 1 for 2.*expected: the same trainer\.ranks\n"):
        checkpoints(tmp_path, fits={"model": "m", "ranks": 2}).load()


def test_a_refusal_names_what_differs_and_not_what_is_the_same(tmp_path: Path) -> None:
    checkpoints(tmp_path, fits={"model": "m", "examples": "before"}).save(STATE, write_weights)
    with pytest.raises(CheckpointError, match=r"expected: the same rows in algorithm\.data\n"):
        checkpoints(tmp_path, fits={"model": "m", "examples": "after"}).load()


def test_a_checkpoint_from_before_a_fact_was_kept_still_loads(tmp_path: Path) -> None:
    checkpoints(tmp_path, fits={"model": "m"}).save(STATE, write_weights)
    assert checkpoints(tmp_path, fits={"model": "m", "model_files": "abc"}).load()[0] == STATE


def test_other_weights_behind_the_same_path_are_another_model(tmp_path: Path) -> None:
    weights, config = tmp_path / "model.safetensors", tmp_path / "config.json"
    config.write_text('{"hidden_size": 8, "transformers_version": "1"}')
    weights.write_bytes(bytes(300_000))
    first = model_fingerprint(str(tmp_path))
    config.write_text('{"transformers_version": "2", "hidden_size": 8}')  # saved anew, the same model
    assert model_fingerprint(str(tmp_path)) == first
    for place in (0, 150_000, 299_999):
        weights.write_bytes(bytes(place) + b"x" + bytes(299_999 - place))
        assert model_fingerprint(str(tmp_path)) != first
    weights.write_bytes(bytes(300_000))
    config.write_text('{"hidden_size": 9}')
    assert model_fingerprint(str(tmp_path)) != first


def test_the_best_and_the_last_are_kept(tmp_path: Path) -> None:
    store = checkpoints(tmp_path)
    for step in (10, 20, 30, 40):
        store.save(replace(STATE, step=step), write_weights)  # the best stays step 10
    assert store.steps() == [10, 30, 40]


def test_without_any_checkpoint_resuming_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no checkpoint to resume from"):
        checkpoints(tmp_path).load()


@pytest.mark.parametrize(("every", "done", "begins_anew"), [(0, 7, True), (10, 7, True), (10, 12, False)],
                         ids=["none is ever due", "none was due yet", "one is gone"])
def test_without_a_checkpoint_a_run_begins_anew_only_where_none_was_due(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int, done: int, begins_anew: bool) -> None:
    pytest.importorskip("torch", reason="the training stack is not installed")
    from reasongym.training import run

    monkeypatch.setattr(run, "run_checkpoints", lambda *_: checkpoints(tmp_path))
    monkeypatch.setattr(run, "_steps_done", lambda _: done)
    config: Any = SimpleNamespace(checkpoint=SimpleNamespace(every=every))
    job: Any = SimpleNamespace(task=None, examples=None)
    folder: Any = None
    if begins_anew:
        assert run._saved(config, job, folder, None) == (LoopState(), None)
    else:
        with pytest.raises(CheckpointError, match="no checkpoint to resume from"):
            run._saved(config, job, folder, None)


@pytest.mark.stack
def test_a_checkpoint_written_without_the_fused_kernel_goes_on_with_it() -> None:
    import torch

    from reasongym.training.zero import step_in_place

    def stepped(optimizer: torch.optim.AdamW, weight: torch.Tensor) -> torch.Tensor:
        weight.grad = torch.linspace(-1, 1, weight.numel())
        optimizer.step()
        return weight.detach().clone()

    before = torch.nn.Parameter(torch.ones(7))
    old = torch.optim.AdamW([before], lr=1e-2)
    after = torch.nn.Parameter(stepped(old, before))
    new = torch.optim.AdamW([after], lr=1e-2, fused=True)
    new.load_state_dict(old.state_dict())
    assert not new.param_groups[0]["fused"]  # the settings that were saved
    step_in_place(SimpleNamespace(optimizer=new))
    assert new.param_groups[0]["fused"]
    torch.testing.assert_close(stepped(new, after), stepped(old, before))
