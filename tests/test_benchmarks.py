"""The benchmarks run, what they stored is what was published, and the documentation quotes what they stored."""

import json
import re
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from benchmarks import covertype, guards, machine, native, quote, store
from benchmarks.claims import figure, partitions, table
from cases import PYTHON
from treecv import kernels

HOME = Path(__file__).parents[1]
PAGE = "\n".join((HOME / "docs" / "benchmarks" / name).read_text() for name in ("README.md", "native.md"))
ROWS = re.sub(r" +", " ", PAGE)


def stored(name):
    return json.loads((store.RESULTS / f"{name}.json").read_text())


@pytest.mark.parametrize("name", ["guards", "native", "table", "figure"])
def test_a_result_says_where_it_comes_from_and_so_does_the_page(name):
    result = stored(name)
    assert machine.sentence(result["machine"]) in PAGE
    assert result["command"] in PAGE
    assert re.fullmatch(r"[0-9a-f]{12}( with local changes)?", result["machine"]["commit"])


def test_no_result_names_a_folder_of_ours():
    for path in store.RESULTS.glob("*.json"):
        assert not re.search(r"/(home|root|tmp|work|Users)/", path.read_text()), path.name


def test_the_level_of_the_core_is_the_one_that_runs():
    assert machine.describe()["core"] == ("python" if PYTHON else kernels.core.__name__.removeprefix("treecv._core_"))


class TestPublishedTable:
    CELLS = stored("table")["cells"]

    def test_every_cell_is_there(self):
        ks = (5, 10, 100, table.ALL_ROWS)
        cells = [(k, column.name) for k, column in partitions.cells(ks)]
        assert [(cell["k"], cell["column"]) for cell in self.CELLS] == cells
        assert len(cells) == sum(len(row) for row in table.PAPER.values()) == 14

    @pytest.mark.parametrize("repetitions", [20, None])
    @pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell['column']} {cell['k']}")
    def test_it_lies_within_three_combined_standard_errors(self, cell, repetitions):
        values = np.array(cell["estimates"][:repetitions])
        assert len(values) >= 20
        compared = table.compare(cell["k"], cell["column"], values)
        assert abs(compared.difference) <= 3
        assert compared.agrees
        if repetitions is None:
            for name in ("paper", "paper_sd", "mean", "sd", "difference"):
                assert cell[name] == pytest.approx(getattr(compared, name), abs=1e-4), name

    @pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell['column']} {cell['k']}")
    def test_it_is_quoted(self, cell):
        theirs, ours = (f"{cell[mean]:.3f} ± {cell[sd]:.4f}" for mean, sd in (("paper", "paper_sd"), ("mean", "sd")))
        assert f"| {cell['k']:,} | {cell['column']} | {theirs} | {ours} | {cell['difference']:+.2f} | yes |" in ROWS


class TestQuotes:
    @pytest.mark.parametrize("name", ["guards", "native"])
    def test_the_table_of_costs(self, name):
        assert guards.in_columns([guards.Line(**line) for line in stored(name)["lines"]]) in PAGE

    def test_the_page_is_what_is_written_into_it(self):
        assert quote.quoted(quote.PAGE.read_text(), stored("native")) == quote.PAGE.read_text()

    @pytest.mark.parametrize(
        "limit",
        stored("guards")["limits"] + stored("native")["limits"],
        ids=lambda limit: f"{limit['name']} {limit['unit']}",
    )
    def test_the_limits(self, limit):
        met = limit.pop("met")
        limit = guards.Limit(**limit)
        assert limit.met == met
        wanted = f"{'≥' if limit.at_least else '≤'} {limit.limit:.1f} {limit.unit}"
        other = "" if limit.other is None else f" {limit.other:.2f}"
        start = f"| {limit.name} | {wanted} | {limit.measured:.2f} |{other} | "
        assert start + ("met |" if met else "**missed, by a factor of") in ROWS

    @pytest.mark.parametrize("problem", stored("figure")["problems"], ids=lambda problem: problem["data"])
    def test_the_figure(self, problem):
        seconds = {(each["order"], each["n"]): each["seconds"] for each in problem["times"]}
        for n in sorted({n for _, n in seconds}):
            assert f"{n:>9,}{seconds['fixed', n]:>12.4f}{seconds['randomized', n]:>14.4f}\n" in PAGE
        for each in problem["estimates"]:
            assert f"{each['k']:>9,}  {each['column']:<20}{each['mean']:>12.5f}{each['sd']:>12.5f}\n" in PAGE
        assert "benchmarks/results/figure.png" in PAGE


@pytest.mark.slow
@pytest.mark.skipif(PYTHON, reason="the reference arithmetic would take minutes")
class TestTrials:
    """On few rows and into a folder of their own, as the page tells newcomers to."""

    def run(self, module, folder, *words):
        command = [sys.executable, "-m", f"benchmarks.{module}", "--rows", "1000", "--results", folder, *words]
        before = {path: path.read_bytes() for path in store.RESULTS.iterdir()}
        printed = subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=True).stdout
        assert {path: path.read_bytes() for path in store.RESULTS.iterdir()} == before
        return printed

    def test_guards(self, tmp_path):
        printed = self.run("guards", tmp_path, "--rounds", "1")
        result = json.loads((tmp_path / "guards.json").read_text())
        assert guards.in_columns([guards.Line(**line) for line in result["lines"]]) in printed
        names = {line["name"] for line in result["lines"]}
        assert {guards.C_ORDERED, guards.SGD, guards.CORE, guards.FRONT, "one pass, the core alone"} <= names
        assert {f"KFold, k={k}, {way}" for k in (5, 10, 100) for way in ("tree", "standard")} <= names
        sections = {line["section"] for line in result["lines"]}
        assert {"growth with n", "growth with k", "memory beyond data and scores"} <= sections
        assert len(result["limits"]) == 12
        assert "Must be reached" in printed

    def test_native(self, tmp_path):
        printed = self.run("native", tmp_path, "--rounds", "1")
        result = json.loads((tmp_path / "native.json").read_text())
        assert guards.in_columns([guards.Line(**line) for line in result["lines"]]) in printed
        sections = [line["section"] for line in result["lines"]]
        assert {
            f"level {level}, {order}" for level in kernels.levels() for order in (native.PERMUTED, native.STORED)
        } <= set(sections)
        units = [limit["unit"] for limit in result["limits"]]
        assert units.count("unshuffled SGD passes") == 2 * len(kernels.levels())
        assert {"times faster", "scikit-learn passes", "native passes", "s", "MB"} <= set(units)
        assert ("x hashed to 4,096" in units) == (not any("news20" in reason for reason in result["not_measured"]))
        for reason in result["not_measured"]:
            assert f"Not measured: {reason}" in printed

    def test_table(self, tmp_path):
        printed = self.run("claims.table", tmp_path, "--repetitions", "2")
        assert "with 1,000 they are no measure" in printed
        assert [len(cell["estimates"]) for cell in json.loads((tmp_path / "table.json").read_text())["cells"]] == [
            2
        ] * 14

    def test_figure(self, tmp_path):
        printed = self.run("claims.figure", tmp_path, "--repetitions", "2")
        assert "a stand-in" in printed
        assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
        problems = json.loads((tmp_path / "figure.json").read_text())["problems"]
        assert [len(problem["estimates"]) for problem in problems] == [14, 14]
        assert all({each["order"] for each in problem["times"]} == {"fixed", "randomized"} for problem in problems)


class TestNative:
    @pytest.mark.skipif(PYTHON, reason="there is no core to measure")
    def test_without_all_of_covertype_it_says_so_and_measures_nothing(self, tmp_path, monkeypatch):
        monkeypatch.setattr(covertype, "CHECKOUT", tmp_path / "elsewhere")
        monkeypatch.delenv("TREECV_DATA", raising=False)
        monkeypatch.setattr(sys, "argv", ["native", "--results", str(tmp_path)])
        with pytest.raises(SystemExit, match=r"full Covertype was not found.*--rows 20000 --results trial"):
            native.main()
        assert not list(tmp_path.iterdir())

    def test_without_the_texts_it_says_so(self, tmp_path):
        bench = native.Bench("nothing", np.zeros((0, 54), np.int16), np.zeros(0, np.uint8), tmp_path, 1)
        measured = guards.Table()
        assert "news20_tfidf.npz is not beside Covertype" in native.text(measured, bench)
        assert measured == guards.Table()

    def test_hashing_adds_up_what_falls_together(self):
        X = csr_array(np.array([[1.0, 2.0, 0.0, 4.0, 8.0], [0.0, 0.0, 1.0, 0.0, 0.0]]))
        np.testing.assert_array_equal(native.hashed(X, 3).toarray(), [[5.0, 10.0, 0.0], [0.0, 0.0, 1.0]])
        assert native.hashed(X, 3).nnz == 3


class TestYearPredictionMSD:
    """The file is the user's own: a few rows of that form stand for it."""

    ROWS = 1200

    @pytest.fixture
    def path(self, tmp_path, monkeypatch):
        monkeypatch.setattr(figure, "MSD_ROWS", self.ROWS)
        random = np.random.default_rng(0)
        years, features = random.integers(1922, 2012, self.ROWS + 5), random.normal(3, 7, (self.ROWS + 5, 90))
        np.savetxt(tmp_path / "YearPredictionMSD.txt", np.c_[years, features], fmt="%.5g", delimiter=",")
        return tmp_path / "YearPredictionMSD.txt"

    def test_a_copy_is_read(self, path):
        problem = figure.regression(Namespace(msd=path, rows=None))
        assert problem.data.name == "YearPredictionMSD (1,200 rows)"
        assert problem.data.X.shape == (self.ROWS, 90)
        np.testing.assert_allclose(problem.data.X.mean(axis=0), 0, atol=1e-5)
        assert (problem.data.y.min(), problem.data.y.max()) == (0, 1)
        assert problem.estimator.step_size == self.ROWS**-0.5

    def test_a_part_of_it_says_so(self, path):
        assert figure.msd(path, 1000).name.startswith("1,000 rows of YearPredictionMSD")

    def test_another_file_is_refused(self, path):
        path.write_text("1,2,3\n" * 9)
        with pytest.raises(SystemExit, match=r"9 rows of 3 numbers, but the training part has 1200 of 91"):
            figure.msd(path, None)
        with pytest.raises(SystemExit, match="no such file"):
            figure.msd(path.with_name("other.txt"), None)
