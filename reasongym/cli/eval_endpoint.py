"""What the options of `reasongym eval` say of an endpoint."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from reasongym.errors import ConfigError, message
from reasongym.evaluation.endpoint import EndpointSettings
from reasongym.evaluation.exchange import Address
from reasongym.evaluation.record import Decoding

__all__ = ["endpoint_settings"]

OURS = ("model", "messages", "prompt", "stream", "n")
"""Fields of a request that `--body` may not touch."""
KEY_LIKE = re.compile(r"(api|auth|access|secret)[_-]?(key|token)|^(key|token|authorization|password|secret)$",
                      re.IGNORECASE)


def endpoint_settings(options: Mapping[str, Any], decoding: Decoding) -> EndpointSettings:
    """Raises ConfigError for an address, a key or a field of a request that cannot be used."""
    sampling: dict[str, Any] = {"max_tokens": decoding.max_new_tokens, "temperature": decoding.temperature}
    address, completions = Address.parse(options["endpoint"]), options["api"] == "completions"
    if completions == address.path.endswith("/chat/completions") and address.path.endswith("/completions"):
        raise ConfigError(message("--endpoint and --api name different things", expected="one of them",
                                  got=f"{address.shown} and {options['api']}", remedy="end the address at /v1"))
    if options["thinking"] != "auto":
        if completions:
            raise ConfigError(message("--thinking is a switch of chat templates", got="--api completions",
                                      expected="--api chat", remedy="leave one of them out"))
        sampling["chat_template_kwargs"] = {"enable_thinking": options["thinking"] == "on"}
    more = dict(_field(text) for text in options["body"])
    if more.get("seed") is not None:
        raise ConfigError(message("each answer has a seed of its own", got=f"--body seed={more['seed']}",
                                  expected="null, which leaves it out", remedy="take --seed"))
    sampling = {key: value for key, value in {**sampling, **more}.items() if value is not None}
    return EndpointSettings(
        address=address, model=options["model"], api=options["api"],
        key=_key(options["key_env"]), sampling=sampling, sends_seed="seed" not in more,
        request_timeout_s=options["request_timeout"], answer_timeout_s=options["answer_timeout"])


def _field(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if KEY_LIKE.search(key):
        raise ConfigError(message("--body holds what looks like a key, which would be written down",
                                  got=f"field {key!r}", expected="a field that readers of the result may see",
                                  remedy="put the key into an environment variable and name it by --key-env"))
    if not equals or not key or key in OURS:
        raise ConfigError(message("--body takes a further field of a request", got=repr(text)[:120],
                                  expected=f"key=value, the key none of {', '.join(OURS)}",
                                  remedy="for example --body top_p=0.9"))
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _key(name: str | None) -> str:
    if name is None:
        return ""
    key = os.environ.get(name, "").strip()
    if not key or not (key.isascii() and key.isprintable()):
        raise ConfigError(message(f"the environment variable {name} holds no key",
                                  got="nothing" if not key else "characters that no header can carry",
                                  expected="the endpoint's key", remedy=f"export {name}=...; --key-env names another"))
    return key
