"""`loadline k6 archive` and `inspect`, and runs of archives."""

from __future__ import annotations

import hashlib
import json
import ssl
import tarfile

import fake_servers
import pytest
from certificates import serve

SCRIPT = """
import http from 'k6/http';
import { path } from './lib.ts';
const names = JSON.parse(open('./names.json'));
export const options = { vus: 2, iterations: 4 };
export default function () { http.get(`${__ENV.BASE}/${__ENV.WHO}${path(names[0])}`); }
"""


@pytest.fixture
def server():
    with fake_servers.RecordingServer() as server:
        yield server


@pytest.fixture
def script(loadline):
    loadline.write("lib.ts", "export function path(name: string): string { return `/${name}`; }\n")
    loadline.write("names.json", '["anna"]')
    return loadline.write("script.js", SCRIPT)


def test_an_archive_runs_without_the_files(loadline, server, script):
    done = loadline("k6", "archive", "-e", "WHO=a", "--tag", "team=x", script)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    with tarfile.open(script.parent / "archive.tar") as archive:
        names = archive.getnames()
        metadata = json.load(archive.extractfile("metadata.json"))
    assert names[:2] == ["metadata.json", "data"]
    assert f"file{script.parent}/lib.ts" in names
    assert f"file{script.parent}/names.json" in names
    assert (metadata["env"], metadata["options"]["tags"]) == ({"WHO": "a"}, {"team": "x"})
    assert metadata["filename"] == f"file://{script}"
    for file in ("script.js", "lib.ts", "names.json"):
        (script.parent / file).unlink()
    done = loadline("k6", "run", "-e", f"BASE={server.url}", "archive.tar")
    assert done.returncode == 0, done.stderr
    assert server.lines == ["GET /a/anna"] * 4
    # Flags and variables of the command line replace those of the archive.
    done = loadline("k6", "run", "-e", f"BASE={server.url}", "-e", "WHO=b", "-i", "1", "-u", "1", "archive.tar")
    assert done.returncode == 0, done.stderr
    assert server.lines[4:] == ["GET /b/anna"]


def test_an_archive_does_not_read_files_that_it_lacks(loadline, server, script):
    extended = SCRIPT.replace("default function () {", "default function () { const more = __ENV.MORE;")
    script.write_text(extended.replace("const names", "if (__ENV.MORE) open('./more.json');\nconst names"))
    loadline.write("more.json", "1")
    assert loadline("k6", "archive", "-O", "out.tar", script).returncode == 0
    done = loadline("k6", "run", "-e", "MORE=1", "out.tar")
    assert done.returncode == 107
    assert "more.json: it is not in the archive" in done.stderr


def test_an_archive_of_an_archive_is_the_same(loadline, script):
    script.write_text("export default function () {}\n")
    assert loadline("k6", "archive", "--compatibility-mode", "base", "-O", "one.tar", script).returncode == 0
    assert loadline("k6", "archive", "-O", "two.tar", "one.tar").returncode == 0
    one, two = (script.parent / name for name in ("one.tar", "two.tar"))
    assert one.read_bytes() == two.read_bytes()


def test_a_damaged_archive_is_refused(loadline, script):
    assert loadline("k6", "archive", script).returncode == 0
    archive = script.parent / "archive.tar"
    archive.write_bytes(archive.read_bytes()[:700])
    done = loadline("k6", "run", "archive.tar")
    assert done.returncode == 255
    assert "archive.tar: " in done.stderr
    assert "Traceback" not in done.stderr
    done = loadline("k6", "archive", "-O", "no/such/folder.tar", script)
    assert (done.returncode, "no/such/folder.tar: " in done.stderr) == (255, True)


def test_inspect_prints_the_options(loadline, script):
    options = json.loads(loadline("k6", "inspect", script).stdout)
    assert (options["vus"], options["iterations"], options["duration"]) == (2, 4, None)
    assert "maxVUs" not in options
    required = json.loads(loadline("k6", "inspect", "--execution-requirements", "-u", "3", script).stdout)
    assert (required["maxVUs"], required["totalDuration"]) == (3, "10m30s")
    # Variables of the system are not passed, unless asked for.
    script.write_text("export const options = { vus: __ENV.USERS };\nexport default function () {}\n")
    for flags, users in [((), None), (("--include-system-env-vars",), 5)]:
        done = loadline("k6", "inspect", *flags, script, env={"USERS": "5"})
        assert json.loads(done.stdout)["vus"] == users


def test_an_archive_of_a_script_with_packages_is_refused(loadline, script):
    package = script.parent / "node_modules" / "names"
    package.mkdir(parents=True)
    (package / "index.js").write_text("export const name = 'anna';\n")
    script.write_text("import { name } from 'names';\nexport default function () { console.log(name); }\n")
    done = loadline("k6", "archive", script)
    assert (done.returncode, "node_modules/names/index.js: an archive cannot have" in done.stderr) == (104, True)


MODULES = {
    "/lib/index.js": "import { name } from './names.js';\nexport const path = () => `/${name}`;\n",
    "/lib/names.js": "export const name = 'remote';\n",
}


class ModuleServer(fake_servers.FakeServer):
    """Serves modules over TLS. `/moved.js` redirects, and `/plain.js` redirects to http."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.asked: list[str] = []

        def then(connection) -> None:
            with context.wrap_socket(connection, server_side=True) as tls:
                target = tls.recv(4096).split()[1].decode()
                self.asked.append(target)
                tls.sendall(self.response(target.partition("?")[0]))

        super().__init__(then)
        self.url = self.url.replace("http", "https")

    def response(self, path: str) -> bytes:
        moved = {"/moved.js": f"{self.url}/lib/index.js", "/plain.js": "http://127.0.0.1:1/x.js"}
        if path in moved:
            return f"HTTP/1.1 302 Found\r\nlocation: {moved[path]}\r\ncontent-length: 0\r\n\r\n".encode()
        text = MODULES.get(path)
        status = "200 OK" if text else "404 Not Found"
        return f"HTTP/1.1 {status}\r\ncontent-length: {len(text or '')}\r\n\r\n{text or ''}".encode()


@pytest.fixture
def modules(certificates, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "authority.pem"))
    with ModuleServer(serve(certificates, "server")) as modules:
        yield modules


def importing(url: str) -> str:
    return f"import http from 'k6/http';\nimport {{ path }} from '{url}';\nexport default () => http.get(__ENV.BASE + path());\n"


def test_modules_of_other_hosts_are_downloaded_once_and_recorded(loadline, server, modules, script):
    script.write_text(importing(f"{modules.url}/lib/index.js"))
    done = loadline("k6", "run", "-e", f"BASE={server.url}", "-u", "3", "-i", "3", script)
    assert done.returncode == 0, done.stderr
    assert server.lines == ["GET /remote"] * 3
    assert sorted(modules.asked) == ["/lib/index.js?_k6=1", "/lib/names.js?_k6=1"]
    digest = hashlib.sha256(MODULES["/lib/names.js"].encode()).hexdigest()
    assert any(f"{modules.url}/lib/names.js" in note and digest in note for note in loadline.summary()["notes"])
    # The archive has the modules, so it needs no network.
    assert loadline("k6", "archive", script).returncode == 0
    done = loadline("k6", "run", "--offline", "-e", f"BASE={server.url}", "archive.tar")
    assert done.returncode == 0, done.stderr
    assert len(modules.asked) == 4


@pytest.mark.parametrize(
    ("path", "flags", "reason"),
    [
        ("/none.js", (), "cannot be downloaded: the server answered with status 404"),
        ("/plain.js", (), "cannot be downloaded: it redirects to an address without https"),
        ("/lib/index.js", ("--offline",), "is on another host, and `--offline` forbids downloads"),
    ],
)
def test_modules_that_cannot_be_downloaded_are_refused_with_their_place(loadline, server, modules, script, path, flags, reason):
    script.write_text(importing(modules.url + path))
    done = loadline("k6", "run", *flags, "-e", f"BASE={server.url}", script)
    assert done.returncode == 107
    assert reason in done.stderr
    assert server.lines == []
    if flags:
        assert modules.asked == []


def test_a_redirect_to_a_module_is_followed(loadline, server, modules, script):
    script.write_text(importing(f"{modules.url}/moved.js").replace("path())", "'/a')"))
    done = loadline("k6", "run", "-e", f"BASE={server.url}", script)
    # Relative imports of the module resolve against the address in the script.
    assert f"{modules.url}/names.js` cannot be downloaded" in done.stderr
    assert modules.asked[:2] == ["/moved.js?_k6=1", "/lib/index.js"]
