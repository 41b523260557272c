"""The terminal screen during a run, and the summary that remains."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from conftest import LOADLINE


class Terminal:
    """Emulates the terminal features that the screen uses, and rejects others."""

    SEQUENCE = re.compile(r"\x1b\[(\??)(\d*)([A-Za-z])")

    def __init__(self, columns: int) -> None:
        self.columns, self.wraps = columns, True
        self.lines, self.row, self.column = [""], 0, 0
        self.colours = False
        # True between the first line of a frame, or of its removal, and its end.
        self.drawing = False

    def feed(self, text: str) -> None:
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                found = self.SEQUENCE.match(text, at)
                self.obey(*found.groups())
                at = found.end()
            else:
                self.put(text[at])
                at += 1

    def obey(self, private: str, number: str, letter: str) -> None:
        n = int(number or 0)
        if letter == "A":
            self.row = max(0, self.row - n)
        elif (letter, n) == ("K", 2):
            self.lines[self.row] = ""
            self.drawing = True
        elif (letter, n) == ("J", 0):
            self.lines[self.row] = self.lines[self.row][: self.column]
            del self.lines[self.row + 1 :]
            self.drawing = False
        elif private and n == 7:
            self.wraps = letter == "h"
        elif letter == "m":
            self.colours |= n > 29
        else:
            raise AssertionError(f"what is CSI {private}{number}{letter}?")

    def put(self, character: str) -> None:
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.row += 1
            if self.row == len(self.lines):
                self.lines.append("")
        else:
            assert self.column < self.columns or self.wraps
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + character + line[self.column + 1 :]
            self.column += 1

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines)


def watch(folder, *args: object, columns: int = 100, env: dict[str, str] | None = None) -> tuple[int, list[str], Terminal]:
    """Runs a command in a terminal.

    Returns its exit code, all distinct screens, and the final terminal.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    usual = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    run = subprocess.Popen(
        [LOADLINE, *map(str, args)],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**usual, "TERM": "xterm-256color", **(env or {})},
    )
    os.close(theirs)
    terminal, seen, rest = Terminal(columns), [], b""
    while True:
        try:
            read = os.read(ours, 65536)
        except OSError:
            break
        rest += read
        # A read may split an escape sequence or a character.
        end = rest.rfind(b"\n") + 1
        if rest.endswith(b"\x1b[J"):
            end = len(rest)
        terminal.feed(rest[:end].decode())
        rest = rest[end:]
        # A frame that was read only in part was not visible.
        if not terminal.drawing:
            seen.append(terminal.text())
    os.close(ours)
    terminal.feed(rest.decode())
    return run.wait(timeout=10), seen, terminal


def test_screen_is_updated_in_place_and_replaced_by_the_summary(loadline, start_lab):
    url = f"{start_lab('sum').url}/api/sum"
    flags = ("--rate", "50/s", "--duration", "3s", "--check", "errors < 1%", "--export", "junit=/dev/full")
    code, seen, terminal = watch(loadline.folder, "run", url, *flags)
    assert code == 3
    # First the plan, then figures; never two screens at the same time.
    screens = [text for text in seen if "Generator" in text]
    assert "0 s of 3 s" in screens[0]
    assert "150 planned · 0 due" in screens[0]
    assert any("in flight" in text and "GET /api/sum" in text and "PASS errors < 1%" in text for text in screens)
    assert all(text.count("Generator ") == 1 and text.count("planned ·") == 1 for text in screens)
    assert all(len(line) <= 100 for text in screens for line in text.splitlines())
    assert len({text.splitlines()[2] for text in screens}) >= 3
    assert terminal.colours

    final = terminal.text()
    assert "Generator " not in final
    assert "in flight ·" not in final
    first, second = final.splitlines()[:2]
    assert first == "loadline: load goes to 127.0.0.1 (this machine)"
    assert second.startswith(url)
    assert "150 planned = 150 started" in final
    *_, error, verdict = final.rstrip().splitlines()
    assert error.endswith("No space left on device (os error 28)")
    assert verdict == "COULD NOT RUN  see the error above"


def test_narrow_terminal_without_colours(loadline, start_lab):
    url = f"{start_lab('sum').url}/api/sum"
    flags = ("--rate", "20/s", "--duration", "1s")
    _, seen, terminal = watch(loadline.folder, "run", url, *flags, columns=50, env={"NO_COLOR": "1"})
    screens = [text for text in seen if "Generator" in text]
    assert screens
    assert all(len(line) <= 50 for text in screens for line in text.splitlines())
    assert not terminal.colours


def test_scenario_output_appears_above_the_screen(loadline, start_lab):
    plan = loadline.write(
        "plan.yml",
        "loadline: 1\ntarget: http://unused.invalid\nload: {rate: 2/s, duration: 3s}\nsteps: [{log: hello there}, {get: /api/sum}]\n",
    )
    _, seen, terminal = watch(loadline.folder, "run", plan, "--target", start_lab("sum").url)
    assert terminal.text().count("hello there\n") == 6
    assert "Generator " not in terminal.text()
    assert any("Generator" in text and "hello there" in text for text in seen)


def test_dumb_terminal_gets_plain_lines(loadline, start_lab):
    url = f"{start_lab('sum').url}/api/sum"
    _, seen, terminal = watch(loadline.folder, "run", url, "--rate", "20/s", "--duration", "6s", env={"TERM": "dumb"})
    assert not any("Generator" in text for text in seen)
    # The line comes with the first whole second of the wall clock at least five seconds after the
    # start.
    line = re.search(r"^[56] s of 6 s: (\d+\.\d) requests/s, p50 ", terminal.text(), re.M)
    assert line, terminal.text()
    assert 10 < float(line[1]) < 30


def test_summary_verdict_is_coloured(loadline, start_lab):
    url = f"{start_lab('sum').url}/api/sum"
    assert loadline("run", url, "--rate", "20/s", "--duration", "1s", "--check", "errors < 1%").returncode == 0
    code, _, terminal = watch(loadline.folder, "report", "last")
    assert code == 0
    assert terminal.colours
    assert "PASS          errors < 1%" in terminal.text()
    _, _, plain = watch(loadline.folder, "report", "last", env={"NO_COLOR": "1"})
    assert not plain.colours
    assert plain.text() == terminal.text()


def test_help_fits_the_terminal(loadline):
    code, _, terminal = watch(loadline.folder, "run", "--help", columns=80)
    assert code == 0
    assert max(map(len, terminal.lines)) <= 80
    # Lines break between words.
    assert "'errors < 1%'; repeatable" in " ".join(terminal.text().split())


def test_profile_fits_the_terminal(loadline):
    steps = "steps: [ { get: / } ]\n"
    plan = loadline.write("plan.yml", f"loadline: 1\ntarget: http://127.0.0.1:9\nload: {{ rate: 1/s, duration: 10s }}\n{steps}")
    code, _, terminal = watch(loadline.folder, "plan", plan, "--latency", "1s", columns=80)
    assert code == 0
    assert max(map(len, terminal.lines)) <= 80
    assert "1 user and 1 request at 1/s" in " ".join(terminal.text().split())
