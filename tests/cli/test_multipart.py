"""Multipart forms with files in a plan: what arrives, and what is refused before the run."""

from fake_servers import RecordingServer, Request

PLAN = """loadline: 1
target: {url}
load: {{ count: 2, duration: 100ms }}
variables: {{ who: Ada }}
steps:
  - post:
      url: /up
      multipart:
        name: '{{{{ who }}}}'
        tag: [ a, b ]
        note: {{ value: 7, type: application/json }}
        photo: {{ file: photo.png }}
        other: {{ file: sub/data.bin, type: text/x-odd, filename: shown.txt }}
"""
BINARY = bytes(range(256))


def test_multipart_parts_arrive_unchanged(loadline) -> None:
    (loadline.folder / "photo.png").write_bytes(BINARY)
    (loadline.folder / "sub").mkdir()
    (loadline.folder / "sub/data.bin").write_bytes(b"--x\r\n")
    got: list[Request] = []

    def record_request(request: Request) -> tuple[int, dict[str, str], bytes]:
        got.append(request)
        return 200, {}, b""

    with RecordingServer(record_request) as target:
        run = loadline("run", loadline.write("up.yml", PLAN.format(url=target.url)))
    assert run.returncode == 0, run.stderr
    kind = got[0].headers["content-type"]
    assert kind.startswith("multipart/form-data; boundary=")
    boundary = kind.split("boundary=")[1].encode()
    parts = got[0].body.split(b"--" + boundary)
    assert parts[0] == b""
    assert parts[-1] == b"--\r\n"
    expected = [
        b'\r\nContent-Disposition: form-data; name="name"\r\n\r\nAda\r\n',
        b'\r\nContent-Disposition: form-data; name="tag"\r\n\r\na\r\n',
        b'\r\nContent-Disposition: form-data; name="tag"\r\n\r\nb\r\n',
        b'\r\nContent-Disposition: form-data; name="note"\r\nContent-Type: application/json\r\n\r\n7\r\n',
        b'\r\nContent-Disposition: form-data; name="photo"; filename="photo.png"\r\nContent-Type: image/png\r\n\r\n'
        + BINARY
        + b"\r\n",
        b'\r\nContent-Disposition: form-data; name="other"; filename="shown.txt"\r\nContent-Type: text/x-odd\r\n\r\n--x\r\n\r\n',
    ]
    assert parts[1:-1] == expected


def test_multipart_invalid_part_is_refused(loadline) -> None:
    for part, why in [
        ("{ file: none.png }", "plan.yml:5:49: `file: none.png`: "),
        ("{ file: '{{ who }}' }", "plan.yml:5:49: files are read before the run"),
        ("{ value: a, file: b }", "plan.yml:5:41: the part `photo` must be exactly one of text, { value: … } and { file: … }"),
        ("{ value: a, filename: b }", "plan.yml:5:63: `filename` is only for a `file`"),
        ("{ fil: a }", "plan.yml:5:43: unknown key `fil`"),
    ]:
        step = f"post: {{ url: /, multipart: {{ photo: {part} }} }}"
        text = f"loadline: 1\ntarget: http://127.0.0.1:9\nload: {{ rate: 1/s, duration: 1s }}\nsteps:\n  - {step}\n"
        run = loadline("run", loadline.write("plan.yml", text))
        assert run.returncode == 2
        assert why in run.stderr, run.stderr


def test_multipart_plan_from_curl_sends_the_same_form(loadline) -> None:
    (loadline.folder / "photo.png").write_bytes(BINARY)
    (loadline.folder / "load").mkdir()
    got: list[Request] = []

    def record_request(request: Request) -> tuple[int, dict[str, str], bytes]:
        got.append(request)
        return 201, {}, b""

    with RecordingServer(record_request) as target:
        made = loadline("init", "-o", "load/up.yml", "curl", f"{target.url}/up", "-F", "name=Ada", "-F", "photo=@photo.png")
        assert made.returncode == 0, made.stderr
        run = loadline("run", "load/up.yml", "--once")
    assert run.returncode == 0, run.stdout + run.stderr
    assert got[0].method == "POST"
    assert b'filename="photo.png"\r\nContent-Type: image/png\r\n\r\n' + BINARY in got[0].body
