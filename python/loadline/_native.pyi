"""The engine, as far as the package uses it. Times are seconds unless a name says otherwise."""

__version__: str

def now_ns() -> int: ...

class Run:
    is_ending: bool
    def __init__(
        self,
        target: str | None,
        users: int,
        duration: float | None,
        files: list[str],
        settings: list[tuple[str, str]],
    ) -> None: ...
    def fileno(self) -> int: ...
    def send(
        self,
        session: int,
        verifies: bool,
        method: str,
        name: str,
        host: str,
        port: int,
        tls: bool,
        data: bytes,
        connect: float | None,
        read: float | None,
        scheduled_ns: int | None = None,
    ) -> int: ...
    def take(self, most: int) -> list[Answer]: ...
    def cancel(self, token: int, session: int) -> None: ...
    def close(self, session: int) -> None: ...
    def foreign(self, method: str, name: str, response_time: float | None, length: int, failed: str | None = None) -> None: ...
    def has_users(self, users: int) -> None: ...
    def end(self) -> tuple[list[str], bool, str | None] | None: ...

class Answer:
    token: int
    status: int
    fault: str | None
    fault_text: str | None
    was_sent: bool
    service_ns: int | None
    location: str | None
    sets_cookies: bool
    head: bytes
    unreadable: str | None
    is_settled: bool
    def __len__(self) -> int: ...
    def take_body(self) -> bytes: ...
    def cancelled(self) -> None: ...
    def resumed(self) -> None: ...
    def settle_ok(self, renamed: tuple[str, str] | None = None) -> None: ...
    def settle_failed(self, by_status: bool, detail: str, renamed: tuple[str, str] | None = None) -> None: ...
    def follows(self, first: Answer) -> None: ...
