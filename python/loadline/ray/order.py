"""What the conductor's first message asks for. Reads and checks it, and does nothing of it."""

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
    """So many nodes, and what each of them is to run."""

    #: How many nodes, or as many as there are.
    nodes: int | None
    #: The cluster's address, or none where it is to be found.
    address: str | None
    timeout_s: float
    arguments: list[str]
    #: Where it runs, in the folder of the files.
    folder: str
    files: list[tuple[str, bytes]]
    environment: dict[str, str]
    insecure: bool


def read(stream: int, data: bytes) -> Order:
    """The first frame. One that does not ask for nodes comes from another version of the conductor, or from nobody's."""
    if stream != CONTROL:
        raise Broken("the first frame is not of the control stream")
    try:
        told: dict[str, Any] = json.loads(data)
        order = Order(
            nodes=None if told["nodes"] is None else int(told["nodes"]),
            address=told.get("address") or None,
            timeout_s=float(told.get("timeout_s", 60)),
            arguments=[str(argument) for argument in told["arguments"]],
            folder=_inside(told.get("folder") or "."),
            files=[(_inside(name), base64.b64decode(content, validate=True)) for name, content in told.get("files", [])],
            environment={str(name): str(value) for name, value in told.get("environment", {}).items()},
            insecure=bool(told.get("insecure", False)),
        )
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as why:
        raise Broken(f"the order cannot be read: {type(why).__name__}: {why}") from None
    if order.nodes is not None and order.nodes < 1:
        raise Broken(f"{order.nodes} nodes were asked for")
    return order


def _inside(name: str) -> str:
    """A path that stays in the folder that is made for it."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"`{name}` is not below the folder of the plan")
    return str(path)
