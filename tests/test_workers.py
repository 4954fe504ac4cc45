"""`n_jobs`: learners in Python through joblib's workers, with the same result for any number of them."""

import os
import signal
import subprocess
import sys
import time

import joblib
import numpy as np
import pytest
import sklearn.model_selection as scikit_learn
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cases import table
from treecv import OnePass, cross_val_predict, cross_validate, learning_curve, permutation_test_score, validation_curve

X, y = table(80, 5)
SEVERAL = ["accuracy", "roc_auc", "f1"]
FOLDS = {
    "partition": scikit_learn.KFold(9),
    "scattered": scikit_learn.KFold(9, shuffle=True, random_state=0),
    "loo": "loo",
    "repeated": scikit_learn.RepeatedKFold(n_splits=4, n_repeats=2, random_state=0),
    "chain": scikit_learn.TimeSeriesSplit(6),
}
ESTIMATORS = [SGDClassifier(loss="log_loss"), make_pipeline(StandardScaler(), SGDClassifier()), GaussianNB()]


def assert_equal(one, other):
    assert list(one) == list(other)
    for name in one:
        if name.startswith(("test", "train", "pred")):
            np.testing.assert_array_equal(one[name], other[name])


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("cv", FOLDS.values(), ids=FOLDS)
@pytest.mark.parametrize("strategy", ["tree", "standard"])
def test_results_do_not_depend_on_the_workers(strategy, cv, backend):
    scoring = "accuracy" if cv == "loo" else SEVERAL
    asked = {"cv": cv, "strategy": strategy, "order": "randomized", "seed": 5, "scoring": scoring}
    asked |= {"return_train_score": True, "return_predictions": True, "return_estimator": True}
    for estimator in ESTIMATORS[: 1 if backend == "loky" else 3]:
        alone = cross_validate(estimator, X, y, **asked)
        with joblib.parallel_backend(backend):
            for n_jobs in (2, 3):
                found = cross_validate(estimator, X, y, n_jobs=n_jobs, **asked)
                assert_equal(found, alone)
                assert found.record.counts == alone.record.counts
                for one, other in zip(found["estimator"], alone["estimator"], strict=True):
                    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_pooled_scores_checks_and_answers_of_any_kind():
    asked = {"strategy": "tree", "seed": 1, "cv": 8}
    for more in ({"aggregate": "pooled", "scoring": SEVERAL}, {"check_folds": 3, "return_predictions": True}):
        alone = cross_validate(ESTIMATORS[0], X, y, **asked, **more)
        found = cross_validate(ESTIMATORS[0], X, y, n_jobs=2, **asked, **more)
        assert_equal(found, alone)
        assert found.check == alone.check
    alone = cross_val_predict(ESTIMATORS[0], X, y, method="predict_proba", **asked)
    np.testing.assert_array_equal(
        cross_val_predict(ESTIMATORS[0], X, y, method="predict_proba", n_jobs=2, **asked), alone
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda **asked: learning_curve(SGDClassifier(), X, y, train_sizes=[10, 40], **asked),
        lambda **asked: validation_curve(SGDClassifier(), X, y, param_name="alpha", param_range=[1e-3, 1.0], **asked),
        lambda **asked: permutation_test_score(SGDClassifier(), X, y, n_permutations=3, **asked),
    ],
)
def test_curves_and_permutations(call):
    alone, found = (call(strategy="tree", seed=1, n_jobs=n_jobs) for n_jobs in (None, 2))
    for one, other in zip(alone, found, strict=True):
        np.testing.assert_array_equal(one, other)


class Picky(GaussianNB):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if (X[:, 0] == FIRST).any():
            raise ValueError("not this one")
        return super().partial_fit(X, y, classes, sample_weight)


FIRST = X[0, 0]


@pytest.mark.filterwarnings("ignore:8 of 9 folds failed")
def test_failures():
    asked = {"cv": scikit_learn.KFold(9), "strategy": "tree", "error_score": -1, "scoring": SEVERAL}
    alone = cross_validate(Picky(), X, y, **asked)
    assert (alone["test_accuracy"] == -1).tolist() == [False] + [True] * 8
    with joblib.parallel_backend("threading"):
        assert_equal(cross_validate(Picky(), X, y, n_jobs=3, **asked), alone)
        with pytest.raises(ValueError, match="not this one") as caught:
            cross_validate(Picky(), X, y, n_jobs=3, **asked | {"error_score": "raise"})
    assert "have no model" in caught.value.__notes__[0] or "has no model" in caught.value.__notes__[0]


SLOW = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
from sklearn.naive_bayes import GaussianNB
from treecv import cross_val_score
X = np.random.default_rng(0).normal(size=(40_000, 5))
print("ready", flush=True)
cross_val_score(GaussianNB(), X, X[:, 0] > 0, cv="loo", strategy="tree", native=False, n_jobs=int(sys.argv[1]))
print("done", flush=True)
"""


def is_there(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_it_within_a_second_and_leaves_no_process(n_jobs):
    command = [sys.executable, "-c", SLOW, str(n_jobs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0) as process:
        assert process.stdout.readline() == b"ready\n"
        time.sleep(2.0)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        begin = time.perf_counter()
        output, errors = process.communicate(timeout=20)
        took = time.perf_counter() - begin
    assert b"done" not in output
    assert b"KeyboardInterrupt" in errors
    assert took < 5  # a second on an idle machine
    deadline = time.perf_counter() + 20
    while is_there(process.pid):
        assert time.perf_counter() < deadline
        time.sleep(0.1)


def test_one_pass_inside_scikit_learns_own_workers():
    folds = scikit_learn.KFold(4)
    found = scikit_learn.cross_val_score(OnePass(SGDClassifier(random_state=0)), X, y, cv=folds, n_jobs=2)
    alone = scikit_learn.cross_val_score(OnePass(SGDClassifier(random_state=0)), X, y, cv=folds)
    np.testing.assert_array_equal(found, alone)
