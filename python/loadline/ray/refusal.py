"""Why there is no run: one line for whoever asked for it, told before anything has been sent."""


class Refused(Exception):
    """One clear line."""
