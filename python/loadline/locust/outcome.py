"""How tests come out, told on standard error, and the one link that Locust's web UI gets: to the live page of a test that runs, to the
report of the last one behind it."""

from __future__ import annotations

from pathlib import Path

from loadline.locust.engine import engine, say

ROUTE = "/loadline"
TITLE = "Loadline: live page and report"

#: Where the last test's record is.
_last: Path | None = None


def tell(told: tuple[list[str], bool, str | None] | None) -> bool:
    """Says how a test came out; whether it failed."""
    global _last
    if told is None:
        return False
    lines, failed, record = told
    for line in lines:
        say(line)
    if record:
        say(f"record {record}")
        _last = Path(record).absolute()
    return failed


def not_recorded(environment, why: Exception) -> None:
    """Says why a test leaves no record. It goes on: it may be part of something larger."""
    for line in str(why).splitlines():
        say(line)
    environment.process_exit_code = 1
    say("the test is not recorded, and its requests are sent by Locust itself")


def link(web_ui=None, **_kwargs) -> None:
    """Puts it where other files are to be had."""
    if web_ui is None:
        return
    own = web_ui.app.blueprints.get("locust")
    path = (own and own.url_prefix or "") + ROUTE
    web_ui.app.add_url_rule(path, "loadline", web_ui.auth_required_if_enabled(_page))
    files = web_ui.template_args.get("extended_csv_files") or []
    web_ui.template_args["extended_csv_files"] = [*files, {"href": path, "title": TITLE}]


def _page():
    from flask import Response, redirect, send_file

    run = engine.run
    if run is not None and run.live_view:
        return redirect(run.live_view)
    report = _last and _last / "report.html"
    if report is not None and report.is_file():
        return send_file(report)
    return Response("No test is over yet: its report is here when one is.\n", mimetype="text/plain")
