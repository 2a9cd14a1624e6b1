"""Training, in the order in which it is read.

    run.py          a run from its first check to its last file, begun anew where ranks have failed
    opening.py      everything started, and taken down again; session.py: what the loop works with
    loop.py         one page: sample, score, learn, sync, log, save

    sampling.py     a step's groups, sampled in turn; collect.py: prompts in, scored groups out
    continuous.py   sampling that goes on while the ranks train; grouping.py: its completions become groups
    curriculum.py   the task's level, by success

    learn.py        what a step learns, by the kind of algorithm
    experience.py   columns of the samples: advantages.py, measure.py, critic_step.py; offline.py, examples/: of a file
    optimize.py     the optimizer steps of a batch; rows.py: micro-batches by token count; sharing.py: who shares a row
    update.py       one micro-batch's share of the loss; tensors.py, policy.py: of which tensors, by which model

    rank.py         a ZeRO-3 rank as a Ray actor; critic.py: PPO's; zero_rank.py: both; group.py: all of them
    zero.py         DeepSpeed: its configuration, and gathering partitioned weights; lora.py: adapters on it
    schedule.py     learning rate by step

    checkpoints.py  what is kept for resuming, atomically; model_files.py: whose weights they fit
    evaluations.py  each held-out evaluation as a result; overlap.py: what training and held-out rows share
    cluster.py      Ray, and where each actor goes; task.py: the configured task; quiet.py: silence of libraries
"""

__all__: list[str] = []
