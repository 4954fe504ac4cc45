"""What README and docs show runs as it is written."""

import re
import tomllib
from pathlib import Path

import pytest

from treecv import kernels
from treecv.adapters import native

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


COMMANDS = {
    page.relative_to(HOME): set(re.findall(r"(?:^|`)make ([a-z]+)", page.read_text(), re.M))
    for page in [HOME / "README.md", *(HOME / "docs").rglob("*.md"), HOME / ".ci" / "run"]
}


@pytest.mark.parametrize("page", COMMANDS, ids=str)
def test_the_commands_that_are_named_exist(page):
    targets = set(re.findall(r"^([a-z]+):", (HOME / "Makefile").read_text(), re.M))
    assert COMMANDS[page] <= targets


def test_newcomers_and_the_machine_are_told_the_same_commands():
    assert {"demo", "test", "lint", "bench", "sanitize"} <= COMMANDS[Path("README.md")]
    checks = (HOME / ".ci" / "run").read_text().splitlines()
    assert {"make lint", "make sanitize", "make reference"} <= set(checks)
    assert checks[-1] == "make test"  # so that the test runner's closing line is the last one


@pytest.mark.parametrize("page", [HOME / "README.md", HOME / "CHANGELOG.md", *(HOME / "docs").rglob("*.md")], ids=str)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


ARCHITECTURE = (HOME / "docs" / "explanation" / "architecture.md").read_text()
NATIVE = (HOME / "docs" / "explanation" / "native.md").read_text()


@pytest.mark.parametrize("header", sorted(path.name for path in (HOME / "core" / "include" / "treecv").glob("*.hpp")))
def test_the_architecture_says_what_each_header_is_for(header):
    table = ARCHITECTURE.partition("## The core")[2].partition("**")[0]
    assert f"`{header}`" in table


def test_the_values_of_the_variable_are_those_that_the_gate_takes():
    named = re.findall(r"^\| (`.*`) \| ", NATIVE, re.M)
    assert re.findall(r"`(\w+)`", " ".join(named)) == ["native", *kernels.LEVELS, "python"]


@pytest.mark.parametrize("name", [cls.__name__ for cls in (*native._MODELS, *native._SCALERS)])
def test_whoever_has_a_twin_is_named(name):
    for page in (NATIVE, (HOME / "README.md").read_text(), (HOME / "CHANGELOG.md").read_text()):
        assert f"`{name}`" in page


def test_the_architecture_draws_the_layers_that_the_linter_holds():
    contract = tomllib.loads((HOME / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    page = (HOME / "docs" / "explanation" / "architecture.md").read_text()
    assert "```\n" + "\n".join(contract["layers"]) + "\n```\n" in page
