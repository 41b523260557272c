"""``python -m loadline.ray``: for the conductor, which speaks frames; nothing for people. Ends with 0 when it was told to, with 3
behind a refusal."""

from __future__ import annotations

import contextlib
import signal
import sys

from loadline.ray import order, surroundings, versions
from loadline.ray.frames import Broken, Pipe
from loadline.ray.refusal import Refused

COULD_NOT_RUN = 3


def main() -> int:
    """The exit code."""
    # A terminal's interrupt comes to everybody; what it means the conductor decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe = Pipe.taken_over()
    try:
        first = pipe.read()
        if first is None:
            return 0
        asked = order.read(*first)
        versions.check()
        address = surroundings.prepare(asked.address, asked.nodes)
        # Only now: it imports Ray, which may not be there, and which looks at its surroundings.
        from loadline.ray.relay import Relay

        Relay(asked, address, pipe).carry_out()
        return 0
    except (Refused, Broken) as why:
        line = str(why)
    except Exception as why:
        line = f"the way over Ray failed: {type(why).__name__}: {' '.join(str(why).split())[:300]}"
    with contextlib.suppress(BrokenPipeError):
        pipe.tell(refused=line)
    return COULD_NOT_RUN


if __name__ == "__main__":
    sys.exit(main())
