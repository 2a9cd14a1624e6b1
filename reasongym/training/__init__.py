"""Training.

    loop.py         one page: sample, score, advantages, update, sync, log, save
    session.py      what the loop works with, built from a configuration and taken down again
    task.py         the configured task and its reward parts (no torch)
    rows.py         rollouts -> rows and micro-batches by token count (no torch)
    tensors.py      micro-batches -> tensors
    policy.py       the model that yields log-probabilities
    update.py       one micro-batch's share of the loss
    rank.py         a ZeRO-3 rank as a Ray actor; group.py: all ranks
    zero.py         DeepSpeed: its configuration, and gathering partitioned weights
    checkpoints.py  what is kept for resuming, atomically
    schedule.py     learning rate by step
    quiet.py        keeps other libraries off the screen
"""

__all__: list[str] = []
