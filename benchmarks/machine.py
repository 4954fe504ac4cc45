"""Which machine, which versions and which commit a number was measured with; nothing that names a person."""

import datetime
import os
import platform
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from treecv import kernels

CHECKOUT = Path(__file__).parents[1]


def describe() -> dict[str, Any]:
    """What a reader needs in order to compare a number with one of their own."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn", "treecv")},
        "blas": _blas(),
        "core": "python" if kernels.core is None else kernels.core.__name__.rpartition("_")[2],
        "commit": commit(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def sentence(machine: dict[str, Any]) -> str:
    """The same in three lines of text."""
    packages = ", ".join(f"{name} {machine[name]}" for name in ("python", "numpy", "scipy", "scikit-learn", "treecv"))
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}; BLAS {machine['blas']}\n"
        f"{packages} (core {machine['core']})\ncommit {machine['commit']}, {machine['date']}"
    )


def commit() -> str:
    """The commit of the checkout, marked where the library differs from it."""
    git = shutil.which("git")
    if git is None or not (CHECKOUT / ".git").exists():
        return "unknown"

    def ask(*words: str) -> str:
        done = subprocess.run([git, *words], cwd=CHECKOUT, capture_output=True, text=True, check=False)  # noqa: S603 - ours
        return done.stdout.strip()

    changed = ask("status", "--porcelain", "--", "src", "core", "CMakeLists.txt")
    return ask("rev-parse", "--short=12", "HEAD") + (" with local changes" if changed else "")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def _blas() -> str:
    """The library behind `X @ w`: another one, or another processor, gives another yardstick."""
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    named = {f"{library['internal_api']} {library['version']} ({library['architecture']})" for library in libraries}
    return ", ".join(sorted(named)) or "unknown"
