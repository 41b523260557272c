"""Locust on Loadline's engine. Import this before a locustfile's ``from locust``.

Sessions of users then send and time their requests natively. Everything else is Locust's own code.
"""

import sys

from loadline.locust.activation import activate
from loadline.locust.versions import Unusable

try:
    activate()
except Unusable as error:
    # `python -m` imports this module before it runs anything.
    if sys.argv[0] == "-m":
        sys.exit(f"loadline: {error}")
    raise
