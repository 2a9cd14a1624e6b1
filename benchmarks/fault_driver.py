"""`python -m benchmarks.fault_driver train ...`: `reasongym train` with its second engine on a machine labelled `spot`.

On a CPU a run keeps its engines on rank 0's machine, through whose memory the weights go; on GPUs they may be anywhere.
The two nodes of a cluster on one machine share that memory, so that here a CPU run can lose an engine with its node.
"""

from __future__ import annotations

from typing import Any

from reasongym.cli import main
from reasongym.planning.placement import Slot
from reasongym.rollout.seat import Placement
from reasongym.training import cluster
from reasongym.training.room import on_cpu

SPOT = "spot"
placed = cluster._options


def apart(slot: Slot, reserved: Any) -> Placement:
    """As `cluster` places it, but for the second engine."""
    return on_cpu(SPOT) if (slot.kind, slot.index) == ("engine", 1) else placed(slot, reserved)


if __name__ == "__main__":
    cluster._options = apart
    main()
