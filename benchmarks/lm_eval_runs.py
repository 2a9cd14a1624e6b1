"""One served model asked twice: by lm-evaluation-harness, and by `reasongym eval`. What each wrote is read back."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reasongym.evaluation.samples import Sample, read_samples
from reasongym.models import EMBEDDED, model_folder

DATA = Path(__file__).parent.parent / "../shared/data/gsm8k"
TASK = "gsm8k_local"
FILTERS = {"strict-match": "gsm8k_strict_match", "flexible-extract": "gsm8k_flexible_extract"}
"""The harness's names, and those of our verifiers."""
MAX_NEW_TOKENS = 256
"""The harness's default."""
SERVER_ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1",
    # Pinned, threads wait for their core however idle another is; on a busy machine a step then took over 300 s.
    "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": "1800"}
START_S, STOP_S, RUN_S = 900.0, 30.0, 7200.0


class Asked(NamedTuple):
    """One row as the harness asked it. verdicts: filter -> right."""

    prompt: str
    until: list[str]
    completion: str
    verdicts: Mapping[str, bool]


def lay_out(folder: Path, rows: int) -> Path:
    """The first rows of the test split, all of the train split, and the harness's own task over these files."""
    data = folder / "gsm8k"
    data.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(DATA / "train.jsonl", data / "train.jsonl")
    lines = (DATA / "test.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (data / "test.jsonl").write_text("".join(lines[:rows]), encoding="utf-8")
    spec = importlib.util.find_spec("lm_eval")
    assert spec is not None
    assert spec.submodule_search_locations
    published = Path(spec.submodule_search_locations[0]) / "tasks/gsm8k/gsm8k.yaml"
    files = {split: str((data / f"{split}.jsonl").resolve()) for split in ("train", "test")}
    (data / f"{TASK}.yaml").write_text(json.dumps(  # JSON is YAML; what is not named here is the published task's
        {"include": str(published), "task": TASK, "dataset_path": "json", "dataset_name": None,
         "dataset_kwargs": {"data_files": files}}))
    return data


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The embedded model behind vLLM's own server, ended with all its processes. Yields the address, up to `/v1`.

    The solved examples at the head of all prompts are computed once, by whoever asks first, and kept; no kernels are
    compiled. What differs between two askings of a prompt is then the batch that it fell into, and nothing else.
    In float32: without AVX-512 a CPU multiplies bfloat16 matrices at a ninth of the speed, 30 s for one prompt.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", model_folder(EMBEDDED),
               "--served-model-name", EMBEDDED, "--host", "127.0.0.1", "--port", str(port), "--enforce-eager",
               "--dtype", "float32", "--max-model-len", "4096", "--max-num-seqs", "16", "--block-size", "32"]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, cwd=folder, env={
            **SERVER_ENVIRONMENT, **environment})
        try:
            _wait_for(server, f"http://127.0.0.1:{port}/health", folder / "server.log")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            _end(server)


def ask_by_harness(data: Path, into: Path, model_args: Sequence[str], *, shots: int = 5,
                   model: str = "local-completions") -> None:
    """`lm_eval run`, unchanged: its prompts, its stop words, its filters."""
    temporary = into.with_name(f"{into.name}.part")
    shutil.rmtree(temporary, ignore_errors=True)
    _run([sys.executable, "-m", "lm_eval", "run", "--model", model, "--tasks", TASK, "--include_path", str(data),
          "--num_fewshot", str(shots), "--output_path", str(temporary), "--log_samples",
          *(["--model_args", ",".join(model_args)] if model_args else [])], into.with_name(f"{into.name}.log"))
    temporary.rename(into)


def local_completions(endpoint: str, model: str, concurrency: int) -> list[str]:
    """Prompts as text: as token ids the harness would cut long ones at the left."""
    return [f"model={model}", f"base_url={endpoint}/completions", "tokenizer_backend=None", "tokenized_requests=False",
            f"num_concurrent={concurrency}", f"max_gen_toks={MAX_NEW_TOKENS}", "timeout=1800"]


def ask_by_ours(data: Path, into: Path, endpoint: str, model: str, *, until: list[str], concurrency: int,
                shots: int = 5) -> None:
    judged = [argument for name in FILTERS.values() for argument in ("--verifier", name)]
    _run([sys.executable, "-m", "reasongym", "eval", "--task", "gsm8k", "--data", str(data), "--set", "style=lm_eval",
          "--set", f"shots={shots}", "--model", model, "--endpoint", endpoint, "--api", "completions",
          "--max-new-tokens", str(MAX_NEW_TOKENS), "--body", f"stop={json.dumps(until)}",
          "--concurrency", str(concurrency), "--output", str(into), *judged], into.with_name(f"{into.name}.log"))


def read_harness(folder: Path) -> list[Asked]:
    """In the order of the rows. The harness logs each row once for each filter."""
    (file,) = folder.rglob(f"samples_{TASK}_*.jsonl")
    found: dict[int, Asked] = {}
    for line in file.read_text(encoding="utf-8").split("\n"):
        if line:
            record = json.loads(line)
            sent = record["arguments"]["gen_args_0"]
            earlier = found.get(record["doc_id"])
            verdicts = {**(earlier.verdicts if earlier else {}), record["filter"]: record["exact_match"] == 1}
            found[record["doc_id"]] = Asked(sent["arg_0"], sent["arg_1"]["until"], record["resps"][0][0], verdicts)
    return [found[number] for number in sorted(found)]


def read_ours(folder: Path) -> list[Sample]:
    return sorted(read_samples(folder), key=lambda sample: sample.prompt.example.index)


def harness_verdicts(data: Path, completions: Sequence[str]) -> list[dict[str, bool]]:
    """What the harness's own filters and metric say of texts that it did not sample, in this process."""
    os.environ |= _offline(data.parent)  # read when its packages are imported
    manager = importlib.import_module("lm_eval.tasks").TaskManager
    task = manager(include_path=str(data), include_defaults=False).load([TASK])["tasks"][TASK]
    task.set_fewshot_seed(1234)
    task.build_all_requests()
    for instance, text in zip(task.instances, completions, strict=True):
        instance.resps = [text]
    task.apply_filters()
    return [{name: bool(task.process_results(instance.doc, [instance.filtered_resps[name]])["exact_match"] == 1)
             for name in FILTERS} for instance in task.instances]


def lead(endpoint: str, model: str, text: str) -> float:
    """By how many nats the likeliest next token leads the second, as the server computes it now."""
    asked = {"model": model, "prompt": text, "max_tokens": 1, "temperature": 0, "logprobs": 2}
    request = urllib.request.Request(f"{endpoint}/completions", json.dumps(asked).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as reply:
        choice: dict[str, Any] = json.load(reply)["choices"][0]
    first, second = sorted(choice["logprobs"]["top_logprobs"][0].values(), reverse=True)[:2]
    return float(first - second)


def _run(command: Sequence[str], log: Path) -> None:
    """Raises RuntimeError with the end of the log where it fails; a TimeoutExpired after two hours."""
    with log.open("w") as output:
        ended = subprocess.run(command, stdout=output, stderr=output, timeout=RUN_S, check=False, env={
            **os.environ, **_offline(log.parent)})
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command[:4])} ended with {ended.returncode}:\n{log.read_text()[-2000:]}")


def _offline(folder: Path) -> dict[str, str]:
    """All that the harness loads is in files; what `datasets` makes of them stays in the folder."""
    return {"HF_HUB_OFFLINE": "1", "HF_DATASETS_CACHE": str(folder / "datasets")}


def _wait_for(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(urllib.error.URLError, OSError), urllib.request.urlopen(address, timeout=5):
            return
        time.sleep(1)
    raise RuntimeError(f"the server did not answer within {START_S:.0f} s:\n{log.read_text()[-2000:]}")


def _end(server: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(STOP_S)
