"""Ray, before anything is started with it."""

from __future__ import annotations

import socket

import pytest

pytest.importorskip("ray", reason="the training stack is not installed")

from reasongym.errors import ResourceError
from reasongym.training import cluster

pytestmark = pytest.mark.stack


@pytest.mark.parametrize("prefix", ["", "ray://"])
def test_an_address_where_nothing_listens_is_said_at_once(prefix: str) -> None:
    """Ray tries for minutes, and says so in lines of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"{prefix}127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(ResourceError, match=rf"(?s)no Ray cluster answers.*{address}"):
            cluster._check_reachable(address)


def test_an_address_that_ray_finds_itself_is_left_to_it() -> None:
    cluster._check_reachable("auto")
