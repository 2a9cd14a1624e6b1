"""Weights from the trainer to the engines, in memory, versioned, checked.

    layout.py         how named tensors lie in flat buckets
    checksums.py      a digest of each tensor, equal on both sides
    shared_memory.py  our transport on one host: the sender, and a segment both sides map
    transports.py     which transport a run uses; vLLM's own NCCL and CUDA IPC for GPUs
    client.py         the control calls to the engines, with deadlines
    engine_side.py    what vLLM loads: the plug-in, the receiving engine, the checksum extension
"""

__all__: list[str] = []
