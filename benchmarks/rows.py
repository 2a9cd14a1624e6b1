"""What sharing a group's prompt saves: forward and backward of the embedded model on the same eight answers."""

from __future__ import annotations

import time

import torch

from reasongym.models import EMBEDDED, model_folder
from reasongym.training.policy import Policy, load_policy
from reasongym.training.rows import Sample, micro_batches, pack_rows
from reasongym.training.tensors import collate

PROMPT, ANSWER, GROUP = 120, 60, 8  # tokens: a GSM8K question in its chat template, a short solution


def measure() -> dict[str, float]:
    """Seconds and real tokens of one group, both ways, and their ratio."""
    torch.manual_seed(0)
    model = load_policy(model_folder(EMBEDDED), dtype=torch.float32, trust_remote_code=False,
                        gradient_checkpointing=False)
    policy = Policy(model, temperature=1.0, chunk_tokens=512)
    prompt = tuple(torch.randint(0, 49_000, (PROMPT,)).tolist())
    samples = [Sample(prompt_ids=prompt, token_ids=tuple(torch.randint(0, 49_000, (ANSWER,)).tolist()),
                      mask=(True,) * ANSWER) for _ in range(GROUP)]
    seconds = {}
    for name, share in (("apart", False), ("shared", True), ("apart", False), ("shared", True)):  # the first pair warms
        rows = pack_rows(samples, share_prompt=share, budget=2048)
        started = time.perf_counter()
        for micro in micro_batches(rows, budget=2048):
            policy(collate(micro, device=torch.device("cpu"))).logprobs_BT.sum().backward()
        seconds[name] = time.perf_counter() - started
    answers = GROUP * ANSWER
    return {"apart_answer_tokens_per_second": answers / seconds["apart"],
            "shared_answer_tokens_per_second": answers / seconds["shared"],
            "speedup": seconds["apart"] / seconds["shared"]}
