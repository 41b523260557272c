"""Replaces Locust's session classes and registers listeners for the events that a record needs.

All replaced names of Locust are here.
"""

import sys

from loadline import _native
from loadline.locust import versions

_done = False

#: Where user classes look up their session class.
PLACES = (
    ("locust.clients", "HttpSession"),
    ("locust.user.users", "HttpSession"),
    ("locust.contrib.fasthttp", "FastHttpSession"),
)


def activate() -> None:
    """Must be called before a locustfile imports any of the names. Later calls have no effect."""
    global _done
    if _done:
        return
    versions.check()
    try:
        _native.check_wishes()
    except ValueError as error:
        # Before any process waits for a master.
        raise versions.Unusable(str(error)) from None
    early = _bound_early()
    import locust
    import locust.clients
    import locust.contrib.fasthttp
    import locust.user.users

    from loadline.locust import fast, http, recording

    for module, name in PLACES:
        setattr(sys.modules[module], name, http.HttpSession if name == "HttpSession" else fast.FastHttpSession)
    recording.listen(locust.events)
    for name in early:
        print(
            f"loadline: warning: {name} was imported before loadline.locust, so requests of that session class are not sent by "
            "Loadline: import loadline.locust first",
            file=sys.stderr,
        )
    _done = True


def _bound_early() -> list[str]:
    """Returns the names of modules that imported a session class too early.

    Their names cannot be replaced.
    """
    own = {module for module, _ in PLACES} | {"locust", "locust.user", "locust.contrib.fasthttp"}
    loaded = {module: sys.modules[module] for module, _ in PLACES if module in sys.modules}
    originals = {id(getattr(loaded[module], name)): name for module, name in PLACES if hasattr(loaded.get(module), name)}
    found = []
    for where, module in list(sys.modules.items()):
        if where in own or module is None:
            continue
        for name, value in list(vars(module).items()):
            if originals.get(id(value)) == name:
                found.append(f"{where}.{name}")
    return found
