"""Hardware as it is read, and parameters as they are counted."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from reasongym.config import load_config
from reasongym.errors import ConfigError, ModelError
from reasongym.planning import KNOWN_SHAPES, Gpu, Hardware, ModelShape, default_recipe, plan, shape_of

GIB = 1024**3


# Hardware


def _machine(root: Path, files: dict[str, str]) -> Hardware:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return Hardware.detect(root, root=root)


def test_a_container_is_not_given_the_memory_of_its_host(tmp_path: Path) -> None:
    meminfo = {"proc/meminfo": "MemTotal:       67108864 kB\n"}  # 64 GiB
    assert _machine(tmp_path, meminfo).memory_gib == 64
    v2 = {"proc/self/cgroup": "0::/job/inner\n", "sys/fs/cgroup/job/inner/memory.max": "max\n",
          "sys/fs/cgroup/job/memory.max": f"{8 * GIB}\n"}  # the limit stands at the parent
    assert _machine(tmp_path, v2).memory_gib == 8
    v1 = {"proc/self/cgroup": "4:cpu,memory:/job\n", "sys/fs/cgroup/memory/job/memory.limit_in_bytes": f"{4 * GIB}\n"}
    assert _machine(tmp_path, v1).memory_gib == 4


def test_a_quota_of_half_a_core_leaves_one_core_not_none(tmp_path: Path) -> None:
    assert _machine(tmp_path, {"sys/fs/cgroup/cpu.max": "50000 100000\n"}).cores == 1


@pytest.mark.parametrize(("flags", "able"), [("avx2 fma", False), ("avx2 avx512f", False),
                                             ("avx2 avx512f avx512_bf16", True), ("avx512f amx_bf16 amx_tile", True)])
def test_a_cpu_without_bfloat16_products_computes_in_float32(tmp_path: Path, flags: str, able: bool) -> None:
    machine = _machine(tmp_path, {"proc/cpuinfo": f"processor : 0\nflags\t\t: fpu {flags} sse\n",
                                  "proc/meminfo": "MemTotal: 25165824 kB\n"})
    assert machine.cpu_bfloat16 is able
    machine = replace(machine, disk_free_gib=100.0, shared_memory_gib=8.0)
    assert plan(load_config(), machine, None).dtype == ("bfloat16" if able else "float32")


def test_a_machine_with_nothing_readable_is_described_not_crashed_on(tmp_path: Path) -> None:
    empty = Hardware.detect(tmp_path / "not" / "there", root=tmp_path / "nothing")
    assert (empty.memory_gib, empty.cpu_features) == (0.0, ())
    assert empty.disk_free_gib > 0  # of the nearest folder that exists


@pytest.mark.parametrize(("script", "gpus"), [
    ("echo 'NVIDIA H100 80GB HBM3, 81559, 9.0'; echo 'Tesla T4, 15360, 7.5'",
     (Gpu(name="NVIDIA H100 80GB HBM3", memory_gib=81559 / 1024, compute_capability=(9, 0)),
      Gpu(name="Tesla T4", memory_gib=15.0, compute_capability=(7, 5)))),
    ("echo 'No devices were found'; exit 6", ()),
    ("echo 'garbage'", ()),
    ("sleep 30", ()),  # a driver that hangs
])
def test_gpus_are_read_from_nvidia_smi_and_a_broken_one_counts_as_none(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, gpus: tuple[Gpu, ...]) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\nexec 2>/dev/null\n{script.replace('sleep', 'exec /bin/sleep')}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert Hardware.detect(tmp_path, deadline_s=0.1 if "sleep" in script else 60.0).gpus == gpus


@pytest.mark.parametrize(("setting", "memories"), [
    ("", []), ("-1", []), ("1", [2.0]), ("1,0", [2.0, 1.0]), ("0, 7", [1.0]), ("GPU-5a", [1.0])])
def test_gpus_that_cuda_hides_are_not_planned_with(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, memories: list[float]) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'A, 1024, 8.0'\necho 'B, 2048, 8.0'\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", setting)
    assert [gpu.memory_gib for gpu in Hardware.detect(tmp_path).gpus] == memories


def test_hardware_by_hand_is_read() -> None:
    node = Hardware.described("8x H100 80GB")
    assert len(node.gpus) == 8
    assert node.gpus[0] == Gpu(name="H100", memory_gib=80.0)
    assert node.memory_gib == 3 * 8 * 80


@pytest.mark.parametrize("text", ["", "lots of GPUs", "0x H100 80GB", "8x H100 0GB", "99999999x H100 80GB",
                                  "8x H100 " + "9" * 400 + "GB"])
def test_a_description_that_is_no_machine_is_refused_at_once(text: str) -> None:
    with pytest.raises(ConfigError, match="8x H100 80GB"):
        Hardware.described(text)


@pytest.mark.parametrize(("machine", "recipe"), [
    ("cpu 64 cores 512GB", "cpu"), ("1x T4 16GB", "cpu"), ("1x A10 24GB", "gpu1"), ("4x H100 80GB", "gpu1"),
    ("8x A10 24GB", "gpu1"), ("8x H100 80GB", "gpu8")])
def test_the_recipe_follows_the_machine_and_is_never_multinode(machine: str, recipe: str) -> None:
    assert default_recipe(Hardware.described(machine)) == recipe


# Shapes


@pytest.mark.parametrize(("name", "count"), [  # as the models' publishers and their safetensors indexes state them
    ("smollm2-135m", 134_515_008), ("Qwen/Qwen2.5-0.5B-Instruct", 494_032_768),
    ("Qwen/Qwen2.5-1.5B-Instruct", 1_543_714_304), ("Qwen/Qwen2.5-7B-Instruct", 7_615_616_512),
    ("Qwen/Qwen2.5-72B-Instruct", 72_706_203_648), ("meta-llama/Llama-3.1-70B-Instruct", 70_553_706_496)])
def test_parameters_computed_from_the_widths_are_the_real_ones(name: str, count: int) -> None:
    assert KNOWN_SHAPES[name].parameters == count


CONFIG = {"model_type": "qwen2", "hidden_size": 8, "num_attention_heads": 2, "num_key_value_heads": 1,
          "num_hidden_layers": 1, "intermediate_size": 16, "vocab_size": 10, "max_position_embeddings": 64,
          "tie_word_embeddings": True}


def _write_model(folder: Path, tree: object, tensors: dict[str, list[int]] | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(tree), encoding="utf-8")
    if tensors is not None:
        entries = {name: {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]} for name, shape in tensors.items()}
        header = json.dumps({"__metadata__": {"format": "pt"}, **entries}).encode()
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    return folder


def test_a_tied_head_stored_in_the_file_is_not_counted_twice(tmp_path: Path) -> None:
    folder = _write_model(tmp_path, CONFIG, {"model.embed_tokens.weight": [10, 8], "lm_head.weight": [10, 8], "b": [3]})
    assert ModelShape.from_folder(folder).parameters == 83  # 10 x 8 + 3


def test_without_weights_the_widths_are_counted(tmp_path: Path) -> None:
    # embeddings 80; attention 8x8 + 8x4 + 8x4 + 8x8 = 192, its biases 8 + 4 + 4 = 16; MLP 3x8x16 = 384; norms 3x8 = 24
    assert ModelShape.from_folder(_write_model(tmp_path, CONFIG)).parameters == 80 + 192 + 16 + 384 + 24
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 12)  # a damaged header is not believed
    assert ModelShape.from_folder(tmp_path).parameters == 696


def test_a_folder_that_is_no_model_is_refused_and_an_unknown_name_is_unknown(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    with pytest.raises(ModelError, match=r"config\.json"):
        shape_of(str(tmp_path))
    with pytest.raises(ModelError, match="num_attention_heads"):
        shape_of(str(_write_model(tmp_path / "vision", {"model_type": "vit", "hidden_size": 8})))
    assert shape_of("someone/unknown") is None
    _write_model(tmp_path / "hub/models--someone--unknown/snapshots/0", CONFIG)
    found = shape_of("someone/unknown")
    assert found is not None
    assert found.hidden == 8
