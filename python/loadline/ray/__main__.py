"""``python -m loadline.ray``: a helper of the conductor that exchanges frames.

Exits with 0 on request, with 3 after a refusal.
"""

from __future__ import annotations

import contextlib
import signal
import sys

from loadline.ray import order, surroundings, versions
from loadline.ray.frames import Broken, Pipe
from loadline.ray.refusal import Refused

COULD_NOT_RUN = 3


def main() -> int:
    """Returns the exit code."""
    # A terminal's interrupt reaches all processes. The conductor decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe = Pipe.taken_over()
    try:
        first = pipe.read()
        if first is None:
            return 0
        request = order.read(*first)
        versions.check()
        address = surroundings.prepare(request.address, request.nodes)
        # Imported late, because it imports Ray, which may be missing and reads its environment on
        # import.
        from loadline.ray.relay import Relay

        Relay(request, address, pipe).run()
        return 0
    except (Refused, Broken) as error:
        line = str(error)
    except Exception as error:
        line = f"the connection through Ray failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
    with contextlib.suppress(BrokenPipeError):
        pipe.send_control(refused=line)
    return COULD_NOT_RUN


if __name__ == "__main__":
    sys.exit(main())
