"""Weights from the trainer to the engines, in memory, versioned, checked.

    layout.py         how named tensors lie in flat buckets
    checksums.py      a digest of each tensor, equal on both sides
    ranks.py          what the training ranks say to one another in a transfer
    shared_memory.py  our transport on one host: the sender, and a segment that all map
    transports.py     which transport a run uses; vLLM's own NCCL and CUDA IPC for GPUs
    client.py         the control calls to the engines, with deadlines
    engine_side.py    what vLLM loads: the plug-in, the receiving engine, questions about its weights
    orphans.py        vLLM's processes end with their engine
    door.py           a worker's own way in, past its engine's core
    staging.py        new weights prepared while an engine samples, and swapped in
    in_use.py         the weights that a vLLM model computes with, by their checkpoint names
"""

__all__: list[str] = []
