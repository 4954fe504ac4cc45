"""The page about the learners is what the code gives."""

import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

from cases import PYTHON
from treecv import learners
from treecv.checks import table
from treecv.learner import Schema

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "learners.md"


@pytest.fixture(scope="module")
def written():
    return table.table()


def rows_of(written):
    """Learner to column to cell."""
    head, _, *lines = ([cell.strip() for cell in line.split("|")[1:-1]] for line in written.splitlines())
    return {cells[0].strip("`"): dict(zip(head, cells, strict=True)) for cells in lines}


@pytest.mark.slow
def test_the_page_has_the_table_of_the_code(written):
    assert f"\n\n{written}\n" in PAGE.read_text(), "run: python -m treecv.checks.table docs/reference/learners.md"


@pytest.mark.slow
def test_every_learner_that_is_exported_is_in_it_with_its_paper(written):
    rows = rows_of(written)
    assert sorted(rows) == sorted(learners.__all__)
    for name, row in rows.items():
        assert row["what it estimates"], name
        assert row["paper"].count("(1") + row["paper"].count("(2"), name
        assert bool(row["walk in core"]) == (PYTHON or hasattr(getattr(learners, name), "walk")), name


@pytest.mark.slow
def test_the_cells_say_what_the_learners_do(written):
    rows = rows_of(written)
    assert [rows["SGD"][column] for column in ("weights", "sparse", "several outputs")] == ["yes"] * 3
    assert [rows["Pegasos"][column] for column in ("weights", "sparse", "several outputs")] == [""] * 3
    assert (rows["SGD"]["call_free"], rows["Pegasos"]["call_free"]) == ("by settings", "yes")
    assert (rows["SGD"]["merges"], rows["SGD"]["unlearns"]) == ("", "")
    assert "`SGDOneClassSVM`" in rows["SGD"]["stands in for"]
    assert "StandardScaler" in rows["Scaled"]["stands in for"]
    assert "(2012)" in rows["SGD"]["paper"]
    assert "Each row is a step" not in rows["SGD"]["paper"]


@pytest.mark.slow
def test_a_new_learner_is_found(monkeypatch):
    class Guess:
        """Guesses.

        Nothing more.
        """

        order_free = True
        outputs = 2

        def merge(self, state, other):
            state += other

        def __init__(self):
            self.schema = Schema(1, 1, "float64")

    monkeypatch.setattr(learners, "Guess", Guess, raising=False)
    monkeypatch.setattr(learners, "__all__", [*learners.__all__, "Guess"])
    monkeypatch.setattr(table, "as_learner", lambda estimator, schema: Guess())
    monkeypatch.setattr(table, "_candidates", lambda: [("Somebody", BaseEstimator())])
    row = rows_of(table.table())["Guess"]
    assert (row["what it estimates"], row["order_free"], row["several outputs"]) == ("Guesses", "yes", "yes")
    assert (row["walk in core"], row["stands in for"]) == ("", "`Somebody`")
    assert (row["merges"], row["unlearns"]) == ("yes", "")


def test_a_page_is_written_anew_and_the_rest_of_it_stays(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("before\n\n| learner | old |\n| --- | --- |\n| it | x |\n\nafter | all\n")
    monkeypatch.setattr(table, "table", lambda: "| learner | new |\n")
    monkeypatch.setattr(sys, "argv", ["table", str(page)])
    table.main()
    assert page.read_text() == "before\n\n| learner | new |\n\nafter | all\n"


@pytest.mark.slow
def test_the_command_finds_nothing_to_change(tmp_path):
    copy = tmp_path / "learners.md"
    copy.write_text(PAGE.read_text())
    subprocess.run([sys.executable, "-m", "treecv.checks.table", copy], check=True)
    assert copy.read_text() == PAGE.read_text()
