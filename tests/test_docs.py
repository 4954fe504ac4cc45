"""What README and docs show runs as it is written."""

import re
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]
PAGES = sorted(page for page in [HOME / "README.md", *(HOME / "docs").rglob("*.md")] if "```python" in page.read_text())


def test_there_are_pages_with_code():
    assert next(page.name for page in PAGES) == "README.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_of_a_page_runs_from_top_to_bottom(page, capsys):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
    names = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), names)  # noqa: S102 - the documentation's own
    assert blocks
    assert capsys.readouterr().out


@pytest.mark.parametrize("page", [HOME / "README.md", HOME / "CHANGELOG.md", *(HOME / "docs").rglob("*.md")], ids=str)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
