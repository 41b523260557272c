"""A refusal: one line for the user, before anything was sent."""


class Refused(Exception):
    """One line with the reason."""
