"""Turns Locust's events into a record: start and end of tests, and the outcome of each response by
the test's own rules.
"""

from __future__ import annotations

import atexit
import os
from math import isfinite

import gevent
from locust.contrib.fasthttp import LocustBadStatusCode
from locust.runners import MasterRunner, WorkerRunner
from requests.exceptions import HTTPError

from loadline import _native
from loadline.locust import arrivals
from loadline.locust.arrivals import dispatcher
from loadline.locust.engine import engine, log
from loadline.locust.master import KEY, hold, master, run_id, starts_ns
from loadline.locust.outcome import link, not_recorded, print_results

#: How often the number of users is passed to the engine.
LOOK_SECONDS = 0.25

_background: list[gevent.Greenlet] = []
#: Open while this process writes a part of a record.
_held: int | None = None
#: The test of which this process runs a part, and the last one that it has fully reported.
_carried_out: str | None = None
_over: str | None = None


def listen(events) -> None:
    """Registers listeners before a locustfile registers its own."""
    events.init.add_listener(link)
    events.init.add_listener(_update_loop_time)
    events.test_start.add_listener(_begin)
    events.test_stopping.add_listener(lambda **_: dispatcher.end())
    events.test_stop.add_listener(_end)
    events.quitting.add_listener(_quitting)
    events.request.add_listener(_request)
    events.report_to_master.add_listener(_report)
    events.worker_connect.add_listener(lambda client_id, **_: master.connected(client_id))
    events.worker_report.add_listener(lambda client_id, data, **_: master.reported(client_id, data))
    atexit.register(_end_of_process)


def _update_loop_time(**_kwargs) -> None:
    """Updates gevent's loop time, which dates from before the import of the locustfile.

    Otherwise a long import would shorten the run time.
    """
    gevent.get_hub().loop.update_now()


def _begin(environment, **_kwargs) -> None:
    runner = environment.runner
    if isinstance(runner, MasterRunner):
        master.begin(environment, _facts(environment))
        return
    handed = getattr(environment.parsed_options, KEY, None)
    while handed is not None and (runner := environment.runner) is None:
        # A worker that connects during a test may receive users before it is fully initialised.
        gevent.sleep(0.01)
    if engine.run is not None or (handed is not None and handed["part"] is None):
        # The master has reported why the run has no record.
        return
    try:
        is_watched = environment.web_ui is not None
        run = _native.Run(_facts(environment), is_watched) if handed is None else _part(handed, runner.client_id)
    except (RuntimeError, ValueError, OverflowError) as error:
        not_recorded(environment, error)
        return
    engine.begin(run)
    _background.append(gevent.spawn(_poll, environment))


def _part(handed: dict, client: str) -> _native.Run:
    """Returns this worker's part of a test that a master distributes."""
    global _held, _carried_out
    number = handed["numbers"].get(client)
    if number is None:
        raise RuntimeError("the master assigned no part to this worker")
    run = _native.Run.of_part(handed["part"], number)
    _held = hold(run.record)
    # All parts start at the same time; a late worker starts immediately.
    _carried_out = run_id(handed["part"])
    early_ns = starts_ns(handed["part"]) - _native.now_ns()
    if early_ns > 0:
        gevent.sleep(early_ns / 1e9)
    return run


def _facts(environment) -> tuple:
    """Returns the facts of a test that are known before it starts."""
    options = environment.parsed_options
    users = getattr(options, "num_users", None) or getattr(environment.runner, "target_user_count", 0) or 1
    run_time = getattr(options, "run_time", None)
    classes = environment.user_classes
    hosts = [environment.host] + [getattr(user, "host", None) for user in classes]
    return (
        next((host for host in hosts if host), None),
        int(users),
        float(run_time) if isinstance(run_time, int | float) and run_time > 0 else None,
        [str(file) for file in getattr(environment, "parsed_locustfiles", None) or []],
        [(user.__name__, f"weight {user.weight:g}") for user in classes],
        _arrivals(environment.runner, users),
    )


def _arrivals(runner, users: int) -> str | None:
    """Returns the requested arrival rate, or None."""
    text = arrivals.requested_rate()
    if text is None:
        return None
    if isinstance(runner, WorkerRunner):
        log(f"{arrivals.NAME} is ignored: the master sets the rate, but it runs without Loadline")
        return None
    log(f"{users} users run tasks at {text}; wait_time is ignored")
    return text


def _end(environment, **_kwargs) -> None:
    global _held, _over
    for greenlet in _background:
        greenlet.kill(block=False)
    _background.clear()
    master.end()
    failed = print_results(engine.end())
    if _held is not None:
        os.close(_held)
        _held, _over = None, _carried_out
    if failed and environment.process_exit_code is None:
        environment.process_exit_code = 1


def _quitting(environment, **_kwargs) -> None:
    """The last listener: workers were stopped, and the exit code is decided next."""
    if isinstance(environment.runner, MasterRunner):
        master.quit(environment.runner)


def _report(data: dict, **_kwargs) -> None:
    """Adds to the worker's report that its requests can be recorded, and which test it has fully
    reported.
    """
    data[KEY] = {"version": _native.__version__, "over": _over}


def _poll(environment) -> None:
    """Passes the number of users to the engine and the engine's stop requests to Locust."""
    while engine.run is not None:
        runner = environment.runner
        if runner is not None:
            engine.run.has_users(max(runner.user_count, 0))
            if engine.run.is_ending:
                log("Loadline stops the test")
                gevent.spawn(runner.quit)
                return
        gevent.sleep(LOOK_SECONDS)


def _request(request_type, name, response_time, response_length=0, exception=None, response=None, **_kwargs) -> None:
    run = engine.run
    native = getattr(response, "_native", None)
    if native is None or native[0].is_settled:
        # A request of another client, or a second event for one response.
        if run is not None:
            failed = repr(exception) if exception else None
            took = None if response_time is None or not isfinite(response_time) else max(response_time, 0.0)
            run.foreign(str(request_type), str(name), took, max(int(response_length or 0), 0), failed)
        return
    answer, sent_as = native
    renamed = None if (request_type, name) == sent_as else (str(request_type), str(name))
    if not exception:
        answer.settle_ok(renamed)
    else:
        by_status = isinstance(exception, HTTPError | LocustBadStatusCode)
        answer.settle_failed(by_status, repr(exception), renamed)


def _end_of_process() -> None:
    """Ends tests that are never stopped when the process exits, such as a debugger's single user."""
    print_results(engine.end_of_process())
