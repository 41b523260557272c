"""Puts our session classes where Locust's users look for theirs, and listens to the events that a record is made of. The only names of
Locust's that are replaced are here."""

import sys

from loadline import _native
from loadline.locust import versions

_done = False

#: Where users look up the class of their session.
PLACES = (
    ("locust.clients", "HttpSession"),
    ("locust.user.users", "HttpSession"),
    ("locust.contrib.fasthttp", "FastHttpSession"),
)


def activate() -> None:
    """Once per process; before a locustfile binds any of the names."""
    global _done
    if _done:
        return
    versions.check()
    try:
        _native.check_wishes()
    except ValueError as why:
        # Before there are processes that would wait for a master.
        raise versions.Unusable(str(why)) from None
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
            f"loadline: warning: {name} was imported before loadline.locust: requests of that session class are not sent by "
            "Loadline; import loadline.locust first",
            file=sys.stderr,
        )
    _done = True


def _bound_early() -> list[str]:
    """Names of modules that have bound a session class already, which nobody can replace for them."""
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
