"""What the package promises: its names, what importing it costs, and that everything shows how it is used."""

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib.metadata import metadata, version
from importlib.resources import files
from pathlib import Path

import pytest

import treecv
from treecv import estimators, model_selection, tree

FUNCTIONS = [
    "cross_val_predict",
    "cross_val_score",
    "cross_validate",
    "explain",
    "learning_curve",
    "permutation_test_score",
    "ridge_path",
    "validation_curve",
]
ESTIMATORS = [
    "LSQSGD",
    "GaussianDensity",
    "HistogramDensity",
    "OnePass",
    "OnlineGaussianMixture",
    "OnlineKMeans",
    "Pegasos",
    "TorchClassifier",
    "TorchRegressor",
]
PUBLIC = [*ESTIMATORS, *FUNCTIONS]

SUPPORTED = {
    "treecv.adapters": [
        "Exact",
        "as_learner",
        "check_learns_in_parts",
        "exact_learner",
        "fitted_estimator",
        "is_one_pass",
        "obstacle",
        "register",
        "shaped",
    ],
    "treecv.checks": ["check_learner", "iter_laws"],
    "treecv.data": [
        "Chunks",
        "Feed",
        "Folds",
        "Rows",
        "Sample",
        "Succession",
        "encode",
        "load_covtype",
        "numbers",
    ],
    "treecv.estimators": ESTIMATORS,
    "treecv.learners": ["LSQSGD", "SGD", "Gaussian", "GaussianMixture", "KMeans", "Pegasos", "Scaled"],
    "treecv.model_selection": FUNCTIONS,
    "treecv.report": ["Result"],
    "treecv.strategies": [
        "SHORTCUTS",
        "STRATEGIES",
        "Candidate",
        "Chain",
        "ClosedForm",
        "Merge",
        "Standard",
        "Strategy",
        "Tree",
        "candidates",
        "cheapest",
        "choose",
        "run",
    ],
}


def in_a_new_interpreter(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_the_public_names():
    assert treecv.__all__ == PUBLIC
    assert dir(treecv) == sorted([*PUBLIC, "__version__"])
    for name in PUBLIC:
        assert getattr(treecv, name).__name__ == name


def test_the_names_of_the_parts():
    found = {}
    for part in pkgutil.iter_modules(treecv.__path__, "treecv."):
        if part.ispkg:
            found[part.name] = getattr(importlib.import_module(part.name), "__all__", None)
    assert {name: names for name, names in found.items() if names is not None} == SUPPORTED
    for module, names in SUPPORTED.items():
        for name in names:
            assert hasattr(importlib.import_module(module), name)


def test_a_public_name_is_the_object_where_it_lives():
    for name in PUBLIC:
        home = estimators if name in estimators.__all__ else model_selection
        assert getattr(treecv, name) is getattr(home, name)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'treecv' has no attribute 'nothing'"):
        treecv.nothing  # noqa: B018 - the access is the test
    with pytest.raises(ImportError, match="cannot import name 'nothing' from 'treecv'"):
        exec("from treecv import nothing", {})  # noqa: S102 - as a user would write it


def test_importing_loads_nothing_until_a_name_is_used():
    heavy = "{'numpy', 'scipy', 'sklearn', 'joblib', 'matplotlib', 'pandas'}"
    code = f"import sys, treecv; dir(treecv); treecv.__version__; print(*({heavy} & set(sys.modules)))"
    assert in_a_new_interpreter(code) == []
    parts = "[name for name in sys.modules if name.startswith('treecv.')]"
    assert in_a_new_interpreter(f"import sys, treecv; print(*{parts})") == []


@pytest.mark.parametrize("module", ["treecv.tree", "treecv.learner", "treecv.records", "treecv.errors"])
def test_the_algorithm_needs_no_framework(module):
    heavy = "{'numpy', 'scipy', 'sklearn'}"
    assert in_a_new_interpreter(f"import sys, {module}; print(*({heavy} & set(sys.modules)))") == []


def test_cross_validation_loads_no_extra():
    code = (
        "import sys\nfrom treecv import LSQSGD, cross_val_score\n"
        "cross_val_score(LSQSGD(0.1), [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0], cv=2)\n"
        "print(*({'matplotlib', 'dask', 'torch', 'river', 'typer'} & set(sys.modules)))"
    )
    assert in_a_new_interpreter(code) == []


PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


def test_the_version_is_the_projects():
    assert treecv.__version__ == PROJECT["version"] == version("treecv")


def test_the_installed_package_says_which_pythons_it_is_for():
    installed = metadata("treecv")
    assert installed["Requires-Python"] == ">=3.11"
    pythons = {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13, 14)}
    assert pythons | {"Typing :: Typed"} <= set(installed.get_all("Classifier"))
    assert installed["License-Expression"] == "BSD-3-Clause"


def test_only_three_packages_are_required():
    required = {re.split(r"[<>=!~ ]", need)[0] for need in PROJECT["dependencies"]}
    assert required == {"numpy", "scipy", "scikit-learn"}


def test_the_algorithm_fits_on_two_pages_and_no_module_grows_without_end():
    sizes = {path: len(path.read_text().splitlines()) for path in Path(treecv.__file__).parent.rglob("*.py")}
    assert sizes[Path(tree.__file__)] < 120
    assert {path.name: size for path, size in sizes.items() if size > 500} == {}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_shows_how_it_is_used(name):
    documented = getattr(treecv, name)
    text = inspect.getdoc(documented)
    assert "\nExamples\n--------\n" in text
    assert "\nParameters\n----------\n" in text or "The parameters are those of `cross_validate`" in text
    assert doctest.DocTestParser().get_examples(text)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_described(name):
    text = inspect.getdoc(treecv.cross_validate) + inspect.getdoc(getattr(treecv, name))
    for parameter in inspect.signature(getattr(treecv, name)).parameters:
        assert any(
            parameter in line.split(" : ")[0].replace(",", " ").split() or f"`{parameter}`" in line
            for line in text.splitlines()
        ), parameter


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_public_method_has_a_docstring(name):
    owner = getattr(treecv, name)
    for method, function in inspect.getmembers(owner, inspect.isfunction):
        if function.__module__.startswith("treecv.") and not method.startswith("_"):
            assert function.__doc__, method
    assert {"fit", "score"} <= set(dir(owner))


def test_the_package_says_it_is_typed_and_brings_its_stub_and_its_sample():
    package = files("treecv")
    for name in ("py.typed", "_core_v1.pyi", "data/covtype_sample.npz"):
        assert package.joinpath(name).is_file(), name
