"""The scripts that newcomers start run, and print what they promise."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from cases import PYTHON
from treecv.tree import chunk_updates

EXAMPLES = Path(__file__).parents[1] / "examples"
NEEDS_CORE = pytest.mark.skipif(PYTHON, reason="the reference arithmetic would take minutes")


def run(name, *words, cwd):
    command = [sys.executable, "-W", "error", EXAMPLES / name, *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout


@NEEDS_CORE
def test_the_demo_sets_the_tree_beside_the_standard_method(tmp_path):
    printed = run("demo.py", cwd=tmp_path)
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert "UCI Machine Learning Repository" in printed
    assert "CC BY 4.0" in printed
    lines = [line.split() for line in printed.splitlines() if " tree " in line or " standard" in line]
    lines = [line for line in lines if line[0].replace(",", "").isdigit()]
    assert [(line[0], line[1].rstrip(",")) for line in lines] == [
        (k, method) for k in ("5", "10", "100", "20,000") for method in ("tree", "standard")
    ]
    for line in lines:
        k = int(line[0].replace(",", ""))
        extrapolated = line[2:5] == ["from", "100", "folds"]
        numbers = [float(word.strip("x").replace(",", "")) for word in line[5 if extrapolated else 2 :]]
        error, standard_error, _, updates, exact, trainings = numbers[:6]
        assert extrapolated == (k == 20_000 and line[1] != "tree")
        assert 20 < error < 40
        assert 0 < standard_error < 10
        assert updates == exact == (chunk_updates(k) if line[1] == "tree" else k * (k - 1))
        assert trainings == pytest.approx(exact / k, abs=0.06)
        assert len(numbers) == (7 if line[1] == "tree" else 6)  # the last one is the speed-up
    assert "Standard leave-one-out is extrapolated from 100 of its 20,000 trainings" in printed


@NEEDS_CORE
def test_single_predictions_says_who_may_be_trusted(tmp_path):
    printed = run("single_predictions.py", "--rows", 200, "--folds", 10, cwd=tmp_path)
    assert "SGDClassifier, leave-one-out over 200 rows; 10 of them from scratch as well" in printed
    trusted = printed.partition("GaussianNB")[2]
    assert "same prediction: tree and from scratch 100.0%" in trusted
    assert [line.strip() for line in printed.splitlines() if "exact:" in line] == ["exact: False", "exact: True"]


@NEEDS_CORE
def test_the_four_settings_of_the_paper_are_one_table(tmp_path):
    printed = run("settings.py", "--rows", 400, "--repetitions", 2, cwd=tmp_path)
    blocks = [block for block in printed.split("\n\n") if "loss" in block or "error" in block or "d" in block][1:]
    titles = [block.splitlines()[0].partition(":")[0] for block in blocks]
    assert list(dict.fromkeys(titles)) == ["Classification", "Regression", "Clustering", "Density"]
    for block in blocks:
        lines = [line.replace("±", "").split() for line in block.splitlines()[2:]]
        assert [line[0] for line in lines] == ["5", "10", "100", "400"]
        for k, *cells in lines:
            assert cells[-2:] == ["-", "-"] if k == "400" else len(cells) == 8
            means = [float(cell) for cell in cells[::2] if cell != "-"]
            assert max(means) - min(means) < 0.6 * max(1, abs(means[0]))


def errors(printed):
    lines = [line.rsplit(maxsplit=3) for line in printed.splitlines()[3:]]
    for *_, trainings in lines:
        assert 12 < float(trainings) < 16
    return {name.strip(): float(error) for name, error, *_ in lines}


@NEEDS_CORE
def test_texts_fall_back_on_the_bundled_sample_and_say_so(tmp_path):
    printed = run("text.py", "--data", tmp_path, cwd=tmp_path)
    assert printed.startswith("a sample of Covertype (20,000 rows x 54 features; news20_tfidf.npz was not found)")
    found = errors(printed)
    assert len(found) == 5
    assert all(15 < error < 45 for error in found.values())
    assert found == errors(run("text.py", "--data", tmp_path, "--threads", 2, cwd=tmp_path))


@NEEDS_CORE
def test_texts_are_told_apart(tmp_path):
    """A stand-in for the file of texts: each uses some words that its half alone uses."""
    random = np.random.default_rng(0)
    n, words = 8_000, 20_000
    y = random.integers(0, 2, n, dtype=np.int8)
    ours = y[:, np.newaxis] ^ (random.random((n, 20)) < 0.3)
    indices = (random.integers(0, words // 2, (n, 20)) * 2 + ours).ravel()
    X = csr_array((np.ones(n * 20, np.float32), indices, np.arange(0, n * 20 + 1, 20)), shape=(n, words))
    X.sum_duplicates()
    stored = {"data": X.data / 5, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    np.savez(tmp_path / "news20_tfidf.npz", y_binary=2 * y - 1, **stored)
    printed = run("text.py", "--data", tmp_path, cwd=tmp_path)
    assert printed.startswith(
        f"20 newsgroups (8,000 texts x 20,000 words, {X.nnz:,} values); leave-one-out, 8,000 models"
    )
    found = errors(printed)
    assert found["logistic regression"] < 25
