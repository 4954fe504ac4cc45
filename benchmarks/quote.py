"""Puts the stored figures of `benchmarks.native` into the page that quotes them: `python -m benchmarks.quote`."""

import json
import re
from pathlib import Path
from typing import Any

from benchmarks import guards, machine, native, store

PAGE = machine.CHECKOUT / "docs" / "benchmarks" / "native.md"
_HEAD = "| | limit | measured | by round | |\n| --- | --- | --- | --- | --- |\n"


def main() -> None:
    """Write the page anew."""
    result = json.loads((store.RESULTS / "native.json").read_text(encoding="utf-8"))
    PAGE.write_text(quoted(PAGE.read_text(encoding="utf-8"), result), encoding="utf-8")
    print(f"Written: {Path(PAGE).relative_to(machine.CHECKOUT)}")


def quoted(page: str, result: dict[str, Any]) -> str:
    """The page with the figures of this result: the list of limits, the machine and the table."""
    listed = _HEAD + "".join(map(verdict, result["limits"]))
    listed += "".join(f"\nNot measured: {reason}\n" for reason in result["not_measured"])
    lines = guards.in_columns([guards.Line(**line) for line in result["lines"]])
    head = (result["data"], machine.sentence(result["machine"]), native.loaded(result["load"]))
    whole = "```\n" + "\n".join([*head, "", lines]) + "\n```\n"
    page = re.sub(r"^\| \| limit \|.*\n(?:\|.*\n)*(?:\nNot measured: .*\n)*", lambda _: listed, page, flags=re.M)
    return re.sub(r"^```\n.*?^```\n", lambda _: whole, page, flags=re.M | re.S)


def verdict(stored: dict[str, Any]) -> str:
    """A row of the list of limits."""
    limit = guards.Limit(**{name: value for name, value in stored.items() if name != "met"})
    sign, other = "≥" if limit.at_least else "≤", "" if limit.other is None else f"{limit.other:.2f}"
    said = "met" if limit.met else f"**missed, by a factor of {guards.factor(limit):.2f}**"
    return f"| {limit.name} | {sign} {limit.limit:.1f} {limit.unit} | {limit.measured:.2f} | {other} | {said} |\n"


if __name__ == "__main__":
    main()
