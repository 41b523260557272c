"""Loadline from Python: load tests on one native engine, and what they measured."""

from loadline._native import __version__

__all__ = ["__version__"]
