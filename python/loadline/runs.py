"""Runs, as Python reads them: figures as objects, tables as dictionaries of columns, criteria
judged on the record.

Everything is computed from the run's record, like all reports. ``command`` runs tests.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadline import _native

#: Percentiles of a summary, with their attribute names.
_PERCENTILES = {"p50": "p50_ms", "p90": "p90_ms", "p95": "p95_ms", "p99": "p99_ms", "p999": "p99_9_ms", "max": "max_ms"}
#: Kinds of time in a row.
_KINDS = ("service", "response", "iteration")


@dataclass(frozen=True)
class Times:
    """One kind of time, in milliseconds.

    ``None`` means too few samples. ``math.inf`` means that the rank falls among unanswered
    requests, which rank above all answered ones; the summary may have a lower bound.
    """

    count: int
    unanswered: int
    mean_ms: float | None
    min_ms: float | None
    p50_ms: float | None
    p90_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    p99_9_ms: float | None
    max_ms: float | None


@dataclass(frozen=True)
class Row:
    """All requests, the requests of one name, the iterations of a scenario or the transactions of a
    group.

    Which times are set depends on what was measured.
    """

    name: str
    count: int
    errors: int
    per_second: float
    bytes_out: int
    bytes_in: int
    codes: dict[int, int]
    #: First byte written → last byte read.
    service: Times | None
    #: Intended start → last byte read.
    response: Times | None
    #: Iteration: intended arrival → last response. Transaction: due time of its first step → end of
    #: its last step.
    iteration: Times | None


@dataclass(frozen=True)
class Requests:
    """issued = ok + failed + unanswered + in_flight."""

    issued: int
    ok: int
    failed: int
    unanswered: int
    #: Unfinished at the end of a killed run's record; otherwise 0.
    in_flight: int = 0


@dataclass(frozen=True)
class Arrivals:
    """planned = started + skipped + unsent + unknown.

    ``planned`` is None without a plan to count by.
    """

    planned: int | None
    started: int
    skipped: int
    unsent: int | None
    unknown: int = 0


@dataclass(frozen=True)
class Check:
    """A criterion and its result. It is true only if the criterion certainly holds."""

    text: str
    #: PASS, FAIL or INCONCLUSIVE.
    judgement: str
    #: In words, with a unit.
    measured: str | None
    #: In nanoseconds, or a share, number or rate, depending on the criterion.
    value: float | None
    reason: str | None
    #: In an invalid measurement: whether the judgement holds regardless of the generator's errors.
    is_robust: bool | None

    @property
    def passed(self) -> bool:
        """Whether the criterion passed, regardless of the generator's errors."""
        return self.judgement == "PASS" and self.is_robust is not False

    def __bool__(self) -> bool:
        return self.passed


def _ms(ns: float | None) -> float | None:
    return None if ns is None else ns / 1e6


def _figure(figure: dict[str, Any]) -> float | None:
    """Returns a figure in milliseconds."""
    if "ns" in figure:
        return figure["ns"] / 1e6
    return math.inf if figure.get("no_answer") or "at_least_ns" in figure else None


def _times(stats: dict[str, Any] | None) -> Times | None:
    if stats is None:
        return None
    figures = {ours: _figure(stats[theirs]) for theirs, ours in _PERCENTILES.items()}
    return Times(stats["count"], stats["unanswered"], _ms(stats["mean_ns"]), _ms(stats["min_ns"]), **figures)


def _row(row: dict[str, Any]) -> Row:
    return Row(
        name=row["text"],
        count=row["count"],
        errors=row["errors"],
        per_second=row["per_second"],
        bytes_out=row["bytes_out"],
        bytes_in=row["bytes_in"],
        codes={int(code): count for code, count in row["codes"].items()},
        **{kind: _times(row[kind]) for kind in _KINDS},
    )


def _check(judged: dict[str, Any]) -> Check:
    return Check(**{name: judged.get(name) for name in ("text", "judgement", "measured", "value", "reason", "is_robust")})


class Run:
    """A run, read from its record."""

    def __init__(self, record: _native.Record) -> None:
        self._record = record
        #: Every figure, by the names in ``summary.json``.
        self.summary: dict[str, Any] = json.loads(record.summary())

    def __repr__(self) -> str:
        what = self.summary["run"]
        return f"<loadline.Run {what['name']!r} of {what['started_utc']}: {self.verdict or 'no criteria'}>"

    def __str__(self) -> str:
        return self._record.text()

    @property
    def name(self) -> str:
        """The name of the run, as in report titles."""
        return self.summary["run"]["name"]

    @property
    def folder(self) -> Path:
        return Path(self._record.folder)

    @property
    def report(self) -> Path | None:
        """The report page of the run, or None if there is none."""
        page = self.folder / "report.html"
        return page if page.is_file() else None

    @property
    def measurement(self) -> str | None:
        """VALID, DEGRADED or INVALID, or None if that cannot be judged."""
        measurement = self.summary["measurement"]
        return measurement and measurement["verdict"]

    @property
    def verdict(self) -> str | None:
        """INVALID if the measurement is, otherwise PASS, FAIL or INCONCLUSIVE for all criteria
        together.

        None for a run without criteria.
        """
        return "INVALID" if self.measurement == "INVALID" else self.summary["verdict"]["criteria"]

    @property
    def exit_code(self) -> int:
        """The exit code of ``loadline run``."""
        return self.summary["exit_code"]

    @property
    def criteria(self) -> list[Check]:
        """The criteria of the run."""
        return [_check(judged) for judged in self.summary["criteria"]]

    @property
    def requests(self) -> Requests:
        """The counts of requests."""
        counts = self.summary["requests"]
        return Requests(counts["issued"], counts["ok"], counts["failed"], counts["none"], counts["in_flight"])

    @property
    def arrivals(self) -> Arrivals | None:
        """The counts of arrivals, or None in a run without arrivals."""
        values = self.summary["arrivals"]
        counts = ("planned", "started", "skipped", "unsent")
        return values and Arrivals(*(values[count] for count in counts), unknown=values.get("unknown", 0))

    @property
    def all(self) -> Row:
        """All requests together."""
        return _row(self.summary["all"])

    @property
    def rows(self) -> list[Row]:
        """One row per request name, followed by rows per scenario and per group of steps."""
        spanning = self.summary["iterations"] + self.summary.get("transactions", [])
        return [_row(row) for row in self.summary["labels"] + spanning]

    def check(self, criterion: str) -> Check:
        """Judges a criterion (``"p99 < 250ms"``, ``"errors < 1%"``) like one of the run's own."""
        return _check(json.loads(self._record.check(criterion)))

    def percentile(self, percentile: float, kind: str = "service", name: str | None = None) -> float | None:
        """Returns a percentile (such as 99.95) of a kind of time in milliseconds, for all requests
        or one name.

        None means too few samples.
        """
        figure = self._record.percentile(kind, percentile, name)
        return None if figure is None else _figure(json.loads(figure))

    def table(self) -> dict[str, list[Any]]:
        """Returns all requests, names, scenarios and groups as a dictionary of columns, for
        ``pandas.DataFrame(run.table())``.

        Times are response times if a schedule defines when requests were due, otherwise service
        times. The column ``time`` says which.
        """
        columns: dict[str, list[Any]] = {}
        for row in [self.all, *self.rows]:
            kind = next((kind for kind in ("response", "iteration", "service") if getattr(row, kind)), None)
            times = getattr(row, kind) if kind else None
            cells = {
                "name": row.name,
                "count": row.count,
                "errors": row.errors,
                "per_second": row.per_second,
                "time": kind,
                "mean_ms": times and times.mean_ms,
                "min_ms": times and times.min_ms,
                **{column: times and getattr(times, column) for column in _PERCENTILES.values()},
                "bytes_out": row.bytes_out,
                "bytes_in": row.bytes_in,
            }
            for name, value in cells.items():
                columns.setdefault(name, []).append(value)
        return columns

    def series(self) -> dict[str, list[Any]]:
        """Returns the run over time as a dictionary of columns, one row per point of a second, or
        longer in long runs.

        Nested names of ``series.json`` are joined by dots (``service.p99``). Times are in
        nanoseconds.
        """
        points = json.loads(self._record.series())["points"]
        length = len(points["from_ns"])
        return {name: column for name, column in _flat("", points) if len(column) == length}


def _flat(prefix: str, columns: dict[str, Any]):
    for name, column in columns.items():
        if isinstance(column, dict):
            yield from _flat(f"{prefix}{name}.", column)
        elif column and isinstance(column[0], list):
            # One column per worker.
            for number, one in enumerate(column):
                yield f"{prefix}{name}.{number}", one
        else:
            yield prefix + name, column


def folder_of_runs(runs: str | os.PathLike[str] | None) -> Path:
    """Returns the folder that contains the records."""
    return Path(runs or os.environ.get("LOADLINE_RUNS") or ".loadline/runs")


def open(run: str | os.PathLike[str] = "last", runs: str | os.PathLike[str] | None = None) -> Run:
    """Opens a finished run:

    ``"last"``, a name or its beginning, or a folder. ``runs`` is the folder of records.
    """
    return Run(_native.Record(folder_of_runs(runs), os.fspath(run)))
