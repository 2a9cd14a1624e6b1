"""TRL's GRPOTrainer on the problems of a run of ours: `python -m benchmarks.trl_grpo_run SHAPE.json STEPS.jsonl`.

Run apart by `benchmarks.trl_grpo`, with TRL on the path. A line a step: seconds since 1970 at its end, tokens an
answer, share of groups whose rewards are all equal.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from reasongym.config import load_config
from reasongym.models import EMBEDDED, load_tokenizer, model_folder
from reasongym.rollout.prompts import PromptSource
from reasongym.training.task import make_task
from reasongym.verifiers.gsm8k import gsm8k


def main(shape_file: str, steps_file: str) -> None:
    """The whole run."""
    shape = json.loads(Path(shape_file).read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of each version of vLLM that it was not tested with
        from transformers import TrainerCallback
        from trl import GRPOTrainer  # type: ignore[import-not-found,unused-ignore]

    class Steps(TrainerCallback):  # type: ignore[misc,unused-ignore]
        """Written as each ends."""

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if "reward" in logs:
                row = {"step": state.global_step, "time": time.time(), "length": logs["completions/mean_length"],
                       "flat": logs["frac_reward_zero_std"], "reward": logs["reward"]}
                with Path(steps_file).open("a") as file:
                    file.write(json.dumps(row) + "\n")

    tokenizer = load_tokenizer(model_folder(EMBEDDED))
    with tempfile.TemporaryDirectory() as scratch:
        trainer = GRPOTrainer(model=model_folder(EMBEDDED), reward_funcs=rewards, args=arguments(shape, scratch),
                              train_dataset=problems(shape, tokenizer), processing_class=tokenizer,
                              callbacks=[Steps()])
        trainer.train()


def problems(shape: dict[str, Any], tokenizer: Any) -> Any:
    """Those that our run takes, in its order."""
    from datasets import Dataset

    config = load_config("cpu_arithmetic")
    source = PromptSource(make_task(config, training=True), config.task.split, tokenizer=tokenizer, seed=config.seed,
                          max_tokens=config.rollout.max_prompt_tokens)
    taken = [source.take_one()[0] for _ in range(shape["prompts"] * shape["steps"])]
    examples = [prompt.example for prompt in taken]
    # TRL's way from messages to tokens.
    ids = tokenizer.apply_chat_template(list(examples[0].messages), add_generation_prompt=True, return_dict=False)
    assert tuple(ids) == taken[0].token_ids
    return Dataset.from_list([{"prompt": list(example.messages), "reference": example.reference}
                              for example in examples])


def rewards(completions: list[Any], reference: list[str], **_: Any) -> list[float]:
    """Of the verifier that our run has."""
    return [gsm8k(completion[0]["content"], gold, example={}).score
            for completion, gold in zip(completions, reference, strict=True)]


def arguments(shape: dict[str, Any], scratch: str) -> Any:
    """What a run of the recipe `cpu_arithmetic` has, in TRL's words. It samples once a step, as we do.

    The loss is the mean over the step's tokens: the recipe's, and TRL's own default.
    """
    from trl import GRPOConfig

    config = load_config("cpu_arithmetic")
    trainer, samples = config.trainer, shape["prompts"] * shape["group"]
    return GRPOConfig(
        output_dir=scratch, use_cpu=True, bf16=False, fp16=False, max_steps=shape["steps"], seed=config.seed,
        num_generations=shape["group"], per_device_train_batch_size=shape["rows"],
        gradient_accumulation_steps=samples // shape["rows"], max_completion_length=config.rollout.max_new_tokens,
        temperature=config.rollout.temperature, learning_rate=trainer.learning_rate, lr_scheduler_type="constant",
        weight_decay=trainer.weight_decay, adam_beta1=trainer.beta1, adam_beta2=trainer.beta2,
        max_grad_norm=trainer.max_grad_norm, beta=0.0, loss_type="dapo", gradient_checkpointing=False,
        shuffle_dataset=False, logging_steps=1, save_strategy="no", report_to="none", disable_tqdm=True,
        **shape["more"])


if __name__ == "__main__":
    main(*sys.argv[1:])
