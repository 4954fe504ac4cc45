"""Where results are kept: JSON beside the code, with the machine and the commit that gave them."""

import argparse
import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def add_argument(parser: argparse.ArgumentParser) -> None:
    """The option that keeps a trial away from the results that the documentation quotes."""
    parser.add_argument(
        "--results", type=Path, metavar="DIR", default=RESULTS, help="where results go; default: benchmarks/results"
    )


def save(folder: Path, name: str, command: str, described: dict[str, Any], content: dict[str, Any]) -> str:
    """Write a result; returns what to tell the user.

    The machine is described before measuring: a commit made meanwhile is not what ran.
    """
    path = place(folder, f"{name}.json")
    whole = {"command": command, "machine": described, **content}
    path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return f"Stored in {shown(path)}"


def place(folder: Path, name: str) -> Path:
    """The file of a result; its folder is made."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def shown(path: Path) -> Path:
    """A path as it is printed: within the checkout, from there."""
    home = RESULTS.parents[1]
    return path.relative_to(home) if path.is_relative_to(home) else path
