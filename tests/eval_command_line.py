"""`reasongym eval` as it is typed, with a stand-in for the engines and the tokenizer."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from reasongym import cli
from reasongym.records import Completion, FinishReason
from reasongym.rollout.requests import Request

__all__ = ["Engines", "Run", "Tokenizer", "completion", "run_in", "write_rows"]

SHAPE = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 128,
         "vocab_size": 256, "max_position_embeddings": 2048, "model_type": "llama"}


class Tokenizer:
    """Words as tokens."""

    chat_template, name_or_path = "yes", "stand-in"

    def apply_chat_template(self, messages: list[dict[str, str]], **options: object) -> str:
        return " ".join(turn["content"] for turn in messages)

    def __call__(self, text: str, **options: object) -> dict[str, list[int]]:
        return {"input_ids": list(range(len(text.split())))}


def completion(text: str, *, tokens: int = 3, cut: bool = False) -> Completion:
    return Completion(token_ids=(1,) * tokens, logprobs=(0.0,) * tokens, mask=(True,) * tokens, versions=(0,) * tokens,
                      text=text, finish_reason=FinishReason.LENGTH if cut else FinishReason.STOP, seed=0)


class Engines:
    """Answers each prompt with its row's number: rows 0 and 1 hold right answers."""

    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[Request, Completion]]:
        for request in requests:
            index = request.prompt.example.index
            yield request, completion(f"#### {index}" if index != 5 else "no idea", tokens=10, cut=index == 5)


def write_rows(folder: Path) -> Path:
    """Six rows whose gold answers are 0, 1, 0, 0, 0, 0; the last question but one is long."""
    folder.mkdir()
    golds = [0, 1, 0, 0, 0, 0]
    (folder / "test.jsonl").write_text("".join(
        json.dumps({"question": "word " * (3 + 100 * (i == 4)) + f"{i}?", "answer": f"so #### {gold}"}) + "\n"
        for i, gold in enumerate(golds)))
    return folder


Run = Callable[..., int]


def run_in(folder: Path, rows: Path, patch: pytest.MonkeyPatch) -> Run:
    """The exit status of `reasongym eval --task gsm8k` with these arguments, in an empty folder; `resume` of it that of
    `reasongym eval --resume`."""
    model = folder / "model"
    model.mkdir()
    (model / "config.json").write_text(json.dumps(SHAPE))

    @contextlib.contextmanager
    def engines(config: Any, plan: Any, model: str) -> Iterator[Engines]:
        yield Engines()

    patch.setattr("reasongym.cli.eval_sources.open_engines", engines)
    patch.setattr("reasongym.models.load_tokenizer", lambda path, **options: Tokenizer())
    work = folder / "work"
    work.mkdir()
    patch.chdir(work)

    def call(*arguments: str) -> int:
        patch.setattr("sys.argv", ["reasongym", "eval", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0)

    def begin(*arguments: str, data: Path | None = rows, recipe: str | None = "cpu") -> int:
        named = {"--task": "gsm8k", "--model": str(model), "--recipe": recipe, "--data": data and str(data)}
        return call(*(word for option, value in named.items() if value for word in (option, value)), *arguments)

    begin.resume = lambda *arguments: call("--resume", *arguments)  # type: ignore[attr-defined]
    return begin
