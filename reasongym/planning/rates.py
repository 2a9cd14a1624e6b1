"""How fast a machine is taken to be: the assumptions behind a step's time, each with its reason, each settable.

Peaks and bandwidths of GPUs are those of their makers' data sheets: dense bfloat16 products (float16 where a GPU has no
bfloat16), one direction of a link.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import NamedTuple

from reasongym.errors import ConfigError, message, nearest
from reasongym.planning.hardware import Hardware
from reasongym.planning.memory import Device, Dtype

__all__ = ["MEANINGS", "Rates", "assumed_rates"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """See MEANINGS. gpu: the name under which the GPU was found in the table; empty for a CPU."""

    peak_tflops: float
    training_share: float
    memory_gb_per_s: float
    sampling_share: float
    sampling_tokens_per_s: float
    link_gb_per_s: float
    network_gb_per_s: float
    host_gb_per_s: float
    transfer_gb_per_s: float
    answer_share: float
    gpu: str = ""

    def figures(self) -> dict[str, float]:
        """By the name that sets it."""
        return {name: value for name, value in asdict(self).items() if name != "gpu"}

    def with_values(self, assignments: Sequence[str]) -> Rates:
        """With `name=value` replaced. Raises ConfigError for an unknown name, and for a value that is no number above
        0, or no share."""
        return replace(self, **dict(_read(text) for text in assignments))  # type: ignore[arg-type]


MEANINGS: Mapping[str, str] = {
    "peak_tflops": "TFLOP/s of matrix products, of a GPU or of a machine's cores",
    "training_share": "share of the peak that training reaches",
    "memory_gb_per_s": "GB/s of a GPU's memory, or of a machine's",
    "sampling_share": "share of peak and memory speed that sampling reaches",
    "sampling_tokens_per_s": "tokens/s of an engine; 0 derives it from the model",
    "link_gb_per_s": "GB/s between GPUs of a node, or processes of a CPU",
    "network_gb_per_s": "GB/s a GPU between nodes",
    "host_gb_per_s": "GB/s between a GPU and its host",
    "transfer_gb_per_s": "GB/s at which engines take weights",
    "answer_share": "mean length of an answer, of rollout.max_new_tokens",
}
SHARES = frozenset({"training_share", "sampling_share", "answer_share"})


class _Gpu(NamedTuple):
    """TFLOP/s, GB/s of its memory, GB/s of its link to others."""

    peak: float
    memory: float
    link: float


GPUS = {  # the longer name first: an A100 is no A10
    "GB200": _Gpu(2500, 8000, 900), "B200": _Gpu(2250, 8000, 900), "H200": _Gpu(989, 4800, 450),
    "H100 PCIE": _Gpu(756, 2000, 64), "H100": _Gpu(989, 3350, 450), "H800": _Gpu(989, 3350, 200),
    "H20": _Gpu(148, 4000, 450), "A100": _Gpu(312, 2039, 300), "A800": _Gpu(312, 2039, 200),
    "L40S": _Gpu(362, 864, 32), "L40": _Gpu(181, 864, 32), "L4": _Gpu(121, 300, 32), "A40": _Gpu(150, 696, 32),
    "A6000": _Gpu(155, 768, 32), "A10": _Gpu(125, 600, 32), "RTX 4090": _Gpu(165, 1008, 32),
    "RTX 3090": _Gpu(71, 936, 32), "V100": _Gpu(125, 900, 150), "T4": _Gpu(65, 320, 16),
}
UNKNOWN = _Gpu(100, 600, 16)
FLOAT32 = 16  # times slower than bfloat16 on a GPU: 19.5 for 312 TFLOP/s on an A100
# A core: 8 float32 lanes, two fused multiply-adds a cycle, at 3 GHz; with AMX or AVX512-BF16, bfloat16 was 2.4 times as
# fast. Two such cores train SmolLM2-135M at 110 tokens/s and sample at 200.
CORE_TFLOPS, CORE_BFLOAT16, CPU_MEMORY = 0.096, 2.4, 20.0
CPU_SLOW_BFLOAT16 = 20


def assumed_rates(hardware: Hardware, device: Device, dtype: Dtype) -> Rates:
    """The defaults for a machine: of its weakest GPU, or of all its cores."""
    if device == "cpu":
        factor = 1.0 if dtype == "float32" else CORE_BFLOAT16 if hardware.cpu_bfloat16 else 1 / CPU_SLOW_BFLOAT16
        return Rates(peak_tflops=CORE_TFLOPS * hardware.cores * factor, training_share=0.45, memory_gb_per_s=CPU_MEMORY,
                     sampling_share=0.27, sampling_tokens_per_s=0.0, link_gb_per_s=1.0, network_gb_per_s=1.0,
                     host_gb_per_s=CPU_MEMORY, transfer_gb_per_s=0.6, answer_share=1.0)
    name, found = min((_named(gpu.name) for gpu in hardware.gpus), key=lambda pair: pair[1].peak)
    peak = found.peak if dtype == "bfloat16" else found.peak / FLOAT32
    # Links and networks reach some three quarters of what they are sold as; 400 Gbit/s a GPU is usual.
    return Rates(peak_tflops=peak, training_share=0.35, memory_gb_per_s=found.memory, sampling_share=0.5,
                 sampling_tokens_per_s=0.0, link_gb_per_s=0.75 * found.link, network_gb_per_s=37.5, host_gb_per_s=20.0,
                 transfer_gb_per_s=10.0, answer_share=1.0, gpu=name)


def _named(gpu: str) -> tuple[str, _Gpu]:
    words = gpu.upper().replace("-", " ")
    for name, figures in GPUS.items():
        if name in words:
            return name, figures
    return "unknown", UNKNOWN


def _read(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    known = [field.name for field in fields(Rates) if field.name in MEANINGS]
    if name not in known:
        raise ConfigError(message(f"no assumption {name!r}.{nearest(name, known)}", got=repr(text),
                                  expected=f"NAME=NUMBER with one of {', '.join(known)}", remedy="correct --assume"))
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    least_is_zero = name == "sampling_tokens_per_s" and value == 0
    if not (least_is_zero or (0 < value < math.inf)) or (name in SHARES and value > 1):
        raise ConfigError(message(f"the assumption {name} is not possible", got=repr(number),
                                  expected="a number above 0" + " and at most 1" * (name in SHARES),
                                  remedy="correct --assume"))
    return name, value
