"""Where results are kept: JSON beside the code, with the machine and the commit that gave them."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def save(name: str, command: str, described: dict[str, Any], content: dict[str, Any]) -> str:
    """Write a result; returns what to tell the user.

    The machine is described before measuring: a commit made meanwhile is not what ran.
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    whole = {"command": command, "machine": described, **content}
    path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return f"Stored in benchmarks/results/{path.name}"
