"""Whatever holds the rows and the targets: the scores are those of the same numbers in plain arrays.

The truth is scikit-learn's own function over `OnePass`, which trains from scratch as strategy="standard" does.
"""

import numpy as np
import pandas
import polars
import pytest
import scipy.sparse
import sklearn.model_selection as scikit_learn
from sklearn.datasets import make_multilabel_classification, make_regression
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline

from cases import table
from treecv import OnePass, Pegasos, cross_val_predict, cross_val_score, cross_validate

X, y = table(120, 6)
LABELS = np.array(["ham", "spam and more"])[y]
FOLDS = [5, scikit_learn.KFold(6, shuffle=True, random_state=0)]


def mapped(array, folder):
    file = np.memmap(folder / "rows", array.dtype, "w+", shape=array.shape)
    file[:] = array
    return file


ROWS = {
    "pandas": pandas.DataFrame,
    "nullable": lambda X: pandas.DataFrame(X).astype("Float64"),
    "polars": polars.DataFrame,
    "list": np.ndarray.tolist,
    **{name: getattr(scipy.sparse, f"{name}_matrix") for name in ("csr", "csc", "coo", "lil", "dok", "bsr")},
    **{f"{name}_array": getattr(scipy.sparse, f"{name}_array") for name in ("csr", "coo")},
}
TARGETS = {
    "list": np.ndarray.tolist,
    "series": lambda y: pandas.Series(y, index=np.arange(len(y))[::-1]),
    "categories": lambda y: pandas.Series(y, dtype="category"),
    "strings": lambda y: pandas.Series(y, dtype="string"),
    "polars": polars.Series,
    "objects": lambda y: y.astype(object),
}


@pytest.mark.parametrize("cv", FOLDS)
@pytest.mark.parametrize("strategy", ["tree", "standard"])
class TestContainers:
    @pytest.mark.parametrize("make", ROWS.values(), ids=ROWS)
    def test_of_rows(self, make, strategy, cv):
        estimator = SGDClassifier(random_state=0)
        settings = {"cv": cv, "strategy": strategy}
        found = cross_val_predict(estimator, make(X), LABELS, **settings)
        plain = scipy.sparse.csr_array(X) if scipy.sparse.issparse(make(X)) else X  # SGD learns sparse rows otherwise
        np.testing.assert_array_equal(found, cross_val_predict(estimator, plain, LABELS, **settings))

    @pytest.mark.parametrize("make", TARGETS.values(), ids=TARGETS)
    def test_of_targets(self, make, strategy, cv):
        settings = {"cv": cv, "strategy": strategy}
        found = cross_validate(GaussianNB(), X, make(LABELS), return_predictions=True, **settings)
        plain = cross_validate(GaussianNB(), X, LABELS, return_predictions=True, **settings)
        np.testing.assert_array_equal(found["test_score"], plain["test_score"])
        np.testing.assert_array_equal(found["predictions"], plain["predictions"])

    def test_memory_maps(self, strategy, cv, tmp_path):
        settings = {"cv": cv, "strategy": strategy}
        found = cross_val_score(SGDClassifier(random_state=0), mapped(X, tmp_path), y, **settings)
        np.testing.assert_array_equal(found, cross_val_score(SGDClassifier(random_state=0), X, y, **settings))

    def test_texts(self, strategy, cv):
        texts = [f"word{i % 7} and " + "more " * (i % 3) for i in range(len(y))]
        estimator = make_pipeline(HashingVectorizer(n_features=64, alternate_sign=False), MultinomialNB())
        found = cross_val_score(estimator, texts, LABELS, cv=cv, strategy=strategy)
        np.testing.assert_array_equal(found, scikit_learn.cross_val_score(estimator, texts, LABELS, cv=cv))


@pytest.mark.parametrize(
    "make", [lambda y: y[:, np.newaxis], lambda y: pandas.DataFrame({"y": y}), lambda y: y[:, np.newaxis].tolist()]
)
@pytest.mark.parametrize("strategy", ["tree", "standard"])
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
class TestOneColumn:
    @pytest.mark.parametrize("estimator", [GaussianNB(), Pegasos(0.1)])
    def test_of_labels(self, estimator, make, strategy):
        found = cross_val_score(estimator, X, make(LABELS), strategy=strategy)
        np.testing.assert_array_equal(found, cross_val_score(estimator, X, LABELS, strategy=strategy))

    def test_of_numbers(self, make, strategy):
        target = X @ np.arange(6.0)
        found = cross_val_score(SGDRegressor(shuffle=False), X, make(target), strategy=strategy)
        np.testing.assert_array_equal(found, cross_val_score(SGDRegressor(shuffle=False), X, target, strategy=strategy))

    def test_for_an_estimator_of_columns(self, make, strategy):
        target = X @ np.arange(6.0)
        estimator = MultiOutputRegressor(SGDRegressor(shuffle=False))
        found = cross_val_score(estimator, X, make(target), strategy=strategy)
        own = cross_val_score(estimator.estimator, X, target, strategy=strategy, native=False)
        np.testing.assert_array_equal(found, own)
        labels = make(LABELS)
        labels = np.array(labels) if isinstance(labels, list) else labels  # its own `score` takes no lists
        found = cross_val_score(MultiOutputClassifier(GaussianNB()), X, labels, strategy=strategy)
        np.testing.assert_array_equal(found, cross_val_score(GaussianNB(), X, LABELS, strategy=strategy))


REGRESSION = make_regression(120, 6, n_targets=3, random_state=0)
NUMBERS = REGRESSION[1] / 100
SEVERAL = np.column_stack([LABELS, np.where(X[:, 0] > 0, "b", "a much longer label"), np.array(["u", "v", "w"])[y]])
METRICS = ["r2", "neg_mean_squared_error", "neg_root_mean_squared_error", "neg_mean_absolute_error"]


class TestSeveralOutputs:
    @pytest.mark.parametrize("scoring", [None, *METRICS])
    @pytest.mark.parametrize(
        "estimator",
        [MLPRegressor(hidden_layer_sizes=(4,), random_state=0), MultiOutputRegressor(SGDRegressor(shuffle=False))],
    )
    @pytest.mark.parametrize("make", [np.asarray, np.ndarray.tolist, pandas.DataFrame, polars.DataFrame])
    def test_numbers(self, estimator, scoring, make):
        settings = {"cv": scikit_learn.KFold(5), "scoring": scoring}
        found = cross_val_score(estimator, REGRESSION[0], make(NUMBERS), strategy="standard", **settings)
        expected = scikit_learn.cross_val_score(OnePass(estimator), REGRESSION[0], NUMBERS, **settings)
        np.testing.assert_allclose(found, expected, rtol=1e-12)

    @pytest.mark.parametrize("scoring", METRICS[1:])
    def test_numbers_of_single_rows(self, scoring):
        estimator = MLPRegressor(hidden_layer_sizes=(4,), random_state=0)
        found = cross_val_score(estimator, X[:20], NUMBERS[:20], cv="loo", scoring=scoring, strategy="standard")
        settings = {"cv": scikit_learn.LeaveOneOut(), "scoring": scoring}
        expected = scikit_learn.cross_val_score(OnePass(estimator), X[:20], NUMBERS[:20], **settings)
        np.testing.assert_allclose(found, expected, rtol=1e-12)

    @pytest.mark.parametrize("make", [np.asarray, np.ndarray.tolist, pandas.DataFrame])
    def test_a_row_with_several_labels_is_right_if_all_are(self, make):
        X, Y = make_multilabel_classification(120, 6, random_state=0)
        estimator = MLPClassifier((4,), random_state=0)
        found = cross_val_score(estimator, X, make(Y), strategy="standard")
        expected = scikit_learn.cross_val_score(OnePass(estimator), X, Y)
        np.testing.assert_array_equal(found, expected)
        assert cross_val_score(estimator, X, make(Y), strategy="tree").shape == (5,)

    def test_labels_of_several_kinds(self):
        estimator = MultiOutputClassifier(SGDClassifier(random_state=0))
        found = cross_validate(estimator, X, SEVERAL, strategy="standard", return_predictions=True)
        expected = scikit_learn.cross_validate(OnePass(estimator), X, SEVERAL)
        np.testing.assert_array_equal(found["test_score"], expected["test_score"])
        predicted = scikit_learn.cross_val_predict(OnePass(estimator), X, SEVERAL)
        np.testing.assert_array_equal(found["predictions"], predicted)

    @pytest.mark.filterwarnings("ignore:Scoring failed")
    def test_a_metric_that_cannot_score_them_does_not(self):
        estimator = MultiOutputClassifier(SGDClassifier(random_state=0))
        assert np.isnan(cross_val_score(estimator, X, SEVERAL, scoring="accuracy", strategy="tree")).all()


def test_a_label_longer_than_those_predicted_first_is_not_cut():
    late = np.where(np.arange(120) > 60, "a long label", "b")
    Y = np.column_stack([late, late])
    estimator = MultiOutputClassifier(GaussianNB())
    folds = scikit_learn.KFold(10)
    found = cross_val_predict(estimator, np.arange(120.0)[:, np.newaxis] + X, Y, cv=folds, strategy="tree")
    assert set(found.ravel()) == {"a long label", "b"}
