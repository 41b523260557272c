"""Locust on Loadline's engine. Importing this before a locustfile's ``from locust`` is all it takes: users' sessions then send and
time their requests natively; everything else is the real Locust's."""

import sys

from loadline.locust.activation import activate
from loadline.locust.versions import Unusable

try:
    activate()
except Unusable as why:
    # `python -m` comes through here before it runs anything.
    if sys.argv[0] == "-m":
        sys.exit(f"loadline: {why}")
    raise
