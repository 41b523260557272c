"""A refusal: one line for the user, before any load is sent."""


class Refused(Exception):
    """One line with the reason."""
