"""Measures the peak memory of a command."""

import subprocess

from conftest import LOADLINE


def peak_mb(loadline, *args: object) -> tuple[subprocess.CompletedProcess[str], float]:
    """Runs the command as the only child of a process that prints the child's peak memory."""
    code = (
        "import resource, subprocess, sys;"
        "ended = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL);"
        "print('PEAK', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, flush=True);"
        "sys.exit(ended.returncode)"
    )
    ended = subprocess.run(
        ["python3", "-c", code, LOADLINE, *map(str, args)], cwd=loadline.folder, capture_output=True, text=True, timeout=60
    )
    return ended, int(ended.stdout.rsplit("PEAK", 1)[1]) / 1024
