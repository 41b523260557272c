"""Reads and checks the conductor's first message."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from loadline.ray.frames import CONTROL, Broken


@dataclass(frozen=True)
class Order:
    """The number of nodes, and what each of them runs."""

    #: The number of nodes, or None for all free ones.
    nodes: int | None
    #: The address of the cluster, or None if it must be found.
    address: str | None
    timeout_s: float
    arguments: list[str]
    #: The working directory, within the folder of files.
    folder: str
    files: list[tuple[str, bytes]]
    environment: dict[str, str]
    insecure: bool


def read(stream: int, data: bytes) -> Order:
    """Reads the first frame. Any other content comes from another version of the conductor."""
    if stream != CONTROL:
        raise Broken("the first frame does not belong to the control stream")
    try:
        message: dict[str, Any] = json.loads(data)
        order = Order(
            nodes=None if message["nodes"] is None else int(message["nodes"]),
            address=message.get("address") or None,
            timeout_s=float(message.get("timeout_s", 60)),
            arguments=[str(argument) for argument in message["arguments"]],
            folder=_inside(message.get("folder") or "."),
            files=[(_inside(name), base64.b64decode(content, validate=True)) for name, content in message.get("files", [])],
            environment={str(name): str(value) for name, value in message.get("environment", {}).items()},
            insecure=bool(message.get("insecure", False)),
        )
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise Broken(f"the order cannot be read: {type(error).__name__}: {error}") from None
    if order.nodes is not None and order.nodes < 1:
        raise Broken(f"{order.nodes} nodes were requested")
    return order


def _inside(name: str) -> str:
    """Returns a path that stays within the created folder."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"`{name}` is outside the folder of the plan")
    return str(path)
