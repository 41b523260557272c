"""Reports results on standard error, and adds a link to Locust's web UI: to the live page during a
test, later to the last report.
"""

from __future__ import annotations

from pathlib import Path

from loadline.locust.engine import engine, log

ROUTE = "/loadline"
TITLE = "Loadline: live view and report"

#: The record of the last test.
_last: Path | None = None


def print_results(results: tuple[list[str], bool, str | None] | None) -> bool:
    """Prints the results of a test. Returns whether the test failed."""
    global _last
    if results is None:
        return False
    lines, failed, record = results
    for line in lines:
        log(line)
    if record:
        log(f"record {record}")
        _last = Path(record).absolute()
    return failed


def not_recorded(environment, error: Exception) -> None:
    """Prints why a test is not recorded. The test continues without a record."""
    for line in str(error).splitlines():
        log(line)
    environment.process_exit_code = 1
    log("the test is not recorded, and Locust sends its requests itself")


def link(web_ui=None, **_kwargs) -> None:
    """Adds the link to the download page."""
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
    return Response("No test has finished yet. The report will appear here.\n", mimetype="text/plain")
