"""Loadline from Python: load tests on one native engine, and what they measured.

>>> import loadline
>>> run = loadline.run("lab:truth", rate="200/s", duration="2s", check="p99 < 250ms")
>>> run.verdict, run.all.service.p50_ms, run.check("errors < 1%").passed
"""

from loadline._native import __version__
from loadline.command import Refused, run
from loadline.runs import Arrivals, Check, Requests, Row, Run, Times, open

__all__ = ["Arrivals", "Check", "Refused", "Requests", "Row", "Run", "Times", "__version__", "open", "run"]
