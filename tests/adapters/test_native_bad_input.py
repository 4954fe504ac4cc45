"""What the core's twins of scikit-learn's estimators say of data that cannot be learnt, or not as they are."""

import numpy as np
import pandas
import pytest
import scipy.sparse
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import SGDClassifier, SGDOneClassSVM, SGDRegressor
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

import reference
from cases import table
from treecv import OnePass, cross_val_predict, cross_val_score, cross_validate
from treecv.errors import InputError, UpdateError

X, y = table(40, 5)
LOG = SGDClassifier(loss="log_loss", shuffle=False)
FOLDS = KFold(5)


class TestAClassOfOneRow:
    """Where that row is held out, its class is absent from the training part."""

    RARE = np.where(np.arange(40) == 17, "rare", np.where(y, "a", "b"))

    @pytest.mark.parametrize("strategy", ["tree", "standard"])
    @pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array], ids=["dense", "sparse"])
    @pytest.mark.parametrize("method", ["predict_proba", "decision_function", "predict"])
    def test_leave_one_out_gives_what_partial_fit_gives(self, method, make, strategy):
        asked = {"cv": "loo", "strategy": strategy, "method": method}
        found = cross_val_predict(LOG, make(X), self.RARE, **asked)
        own = cross_val_predict(LOG, make(X), self.RARE, native=False, **asked)
        if method == "predict":
            np.testing.assert_array_equal(found, own)
        else:
            np.testing.assert_allclose(found, own, rtol=1e-9, atol=1e-9)

    def test_of_two_classes_too(self):
        labels = np.where(np.arange(40) == 0, 1, 0)
        asked = {"cv": "loo", "strategy": "tree", "method": "predict_proba"}
        found = cross_val_predict(LOG, X, labels, **asked)
        np.testing.assert_allclose(found, cross_val_predict(LOG, X, labels, native=False, **asked), rtol=1e-9)


class TestWeights:
    @pytest.mark.parametrize(
        ("weights", "complaint"),
        [
            (np.zeros(40), "zeros alone"),
            (np.r_[np.ones(12), -0.5, np.ones(27)], r"holds -0\.5 at row 12"),
            (np.r_[np.ones(12), np.nan, np.ones(27)], "holds nan at row 12"),
            (np.r_[np.ones(12), np.inf, np.ones(27)], "holds inf at row 12"),
            (np.ones(39), "one entry a row, 40 in all"),
            (1.0, "one entry a row, 40 in all"),
            (["heavy"] * 40, "must hold numbers"),
            (np.ones((40, 1)), "flat array|1D array"),
        ],
    )
    @pytest.mark.parametrize("native", [True, False])
    def test_that_are_none(self, native, weights, complaint):
        for estimator, name in ((LOG, ""), (make_pipeline(StandardScaler(), LOG), "sgdclassifier__")):
            params = {f"{name}sample_weight": weights}
            with pytest.raises(ValueError, match=complaint):
                cross_val_score(estimator, X, y, strategy="tree", params=params, native=native, error_score="raise")

    def test_a_row_of_weight_zero_is_not_learnt(self):
        """Its step is counted, as scikit-learn counts it."""
        weights = np.where(np.arange(40) % 3 == 0, 0.0, 1.0)
        far = np.where(weights[:, np.newaxis] == 0, 1e3, X)
        model = SGDRegressor(shuffle=False, fit_intercept=False)
        asked = {"cv": FOLDS, "strategy": "tree", "params": {"sample_weight": weights}}
        found, expected = cross_val_predict(model, far, y, **asked), cross_val_predict(model, X, y, **asked)
        np.testing.assert_array_equal(found[weights > 0], expected[weights > 0])


def first_overflow(rows, targets, eta, decay):
    """The 1-based row at which the prediction of plain gradient steps on the squared error is not finite."""
    weights, intercept = np.zeros(rows.shape[1]), 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for i, (x, target) in enumerate(zip(rows, targets, strict=True), start=1):
            p = x @ weights + intercept
            if not np.isfinite(p):
                return i
            step = eta * np.clip(p - target, -1e12, 1e12)
            weights, intercept = weights - step * x, intercept - decay * step
    return 0


class TestDivergence:
    """Steps are cut off at 1e12, so that numbers must be enormous before they overflow."""

    ENORMOUS = np.abs(X) * np.where(np.arange(40) < 9, 1, 1e120)[:, np.newaxis]
    MODEL = SGDRegressor(penalty=None, learning_rate="constant", eta0=1e100, shuffle=False)

    def expected(self, strategy, decay):
        folds = np.array_split(np.arange(40), 5)
        others = reference.tree_order(0, 5) if strategy == "tree" else [1, 2, 3, 4]
        learnt = np.concatenate([folds[i] for i in others])
        return first_overflow(self.ENORMOUS[learnt], y[learnt], self.MODEL.eta0, decay)

    @pytest.mark.parametrize("strategy", ["tree", "standard"])
    @pytest.mark.parametrize(
        ("make", "decay"), [(np.asarray, 1.0), (scipy.sparse.csr_array, 0.01)], ids=["dense", "sparse"]
    )
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_names_the_row_at_which_it_began(self, n_jobs, make, decay, strategy):
        row = self.expected(strategy, decay)
        assert row > 1
        said = f"fold 0 has no model: training diverged, .* no longer finite at row {row} of those it learnt"
        asked = {"cv": FOLDS, "strategy": strategy, "n_jobs": n_jobs}
        with pytest.raises(UpdateError, match=said):
            cross_val_score(self.MODEL, make(self.ENORMOUS), y, error_score="raise", **asked)
        with pytest.raises(UpdateError, match=rf"All the 5 fits failed\. .*{said}"):
            cross_val_score(self.MODEL, make(self.ENORMOUS), y, **asked)

    def test_where_some_folds_stay_finite_it_is_a_warning(self):
        spoilt = X.copy()
        spoilt[20] = 1e300  # fold 2 alone does not learn it
        model = SGDRegressor(penalty=None, learning_rate="constant", eta0=1e-3, shuffle=False)
        with pytest.warns(FitFailedWarning, match=r"4 of 5 folds failed .* fold 0 has no model: training diverged"):
            found = cross_val_score(model, spoilt, y, cv=FOLDS, strategy="tree", scoring="neg_mean_absolute_error")
        assert np.isnan(found).tolist() == [True, True, False, True, True]

    def test_a_weight_that_no_other_row_reads(self):
        rows, targets = np.zeros((8, 3)), np.arange(8) / 8
        rows[:, 0], rows[3, 2], targets[3] = targets, 1e300, 1e10
        model = SGDRegressor(penalty=None, learning_rate="constant", eta0=0.1, shuffle=False)
        asked = {"cv": "loo", "strategy": "tree", "scoring": "neg_mean_absolute_error"}
        for native in (False, True):
            with pytest.warns(FitFailedWarning, match="7 of 8 folds failed"):
                cross_val_score(model, scipy.sparse.csr_array(rows), targets, native=native, **asked)

    def test_names_the_row_where_it_is_the_last(self):
        spoilt = X.copy()
        spoilt[39] = 1e300
        model = SGDRegressor(penalty=None, learning_rate="constant", eta0=1.0, shuffle=False)
        with pytest.raises(UpdateError, match="no longer finite at row 32 of those"):
            cross_val_score(model, spoilt, y, cv=FOLDS, strategy="standard", error_score="raise")

    def test_batches_count_on(self):
        spoilt = np.tile(X, (5, 1))
        spoilt[77] = 1e300
        rows = []
        for size in (1, 7, 1000):
            model = OnePass(SGDRegressor(penalty=None, learning_rate="constant", shuffle=False), batch_size=size)
            with pytest.raises(UpdateError, match="at row") as caught:
                cross_val_score(model, spoilt, np.tile(y, 5), cv=FOLDS, strategy="standard", error_score="raise")
            rows.append(str(caught.value).partition("at row ")[2])
        # Fold 0 learns rows 40 .. 199: row 77 is its 38th, which itself still has a finite prediction or none at all.
        assert len(set(rows)) == 1
        assert rows[0].startswith(("38 ", "39 "))


def shuffled_indices(sparse, seed=0):
    """The same matrix with the entries of each row in another order, and half of each value said twice."""
    random, data, indices, indptr = np.random.default_rng(seed), [], [], [0]
    for i in range(sparse.shape[0]):
        part = slice(sparse.indptr[i], sparse.indptr[i + 1])
        own = np.tile(np.arange(part.start, part.stop), 2)[random.permutation(2 * (part.stop - part.start))]
        data.append(sparse.data[own] / 2)
        indices.append(sparse.indices[own])
        indptr.append(indptr[-1] + len(own))
    told = (np.concatenate(data), np.concatenate(indices), np.array(indptr))
    return scipy.sparse.csr_array(told, sparse.shape)


class TestSparseRows:
    DENSE = np.where(np.random.default_rng(1).random(X.shape) < 0.5, X, 0)
    CANONICAL = scipy.sparse.csr_array(DENSE)

    def predicted(self, rows, **asked):
        return cross_val_predict(LOG, rows, y, cv=FOLDS, strategy="tree", method="decision_function", **asked)

    def test_unsorted_and_duplicate_indices(self):
        odd = shuffled_indices(self.CANONICAL)
        before = [part.copy() for part in (odd.data, odd.indices, odd.indptr)]
        np.testing.assert_array_equal(self.predicted(odd), self.predicted(self.CANONICAL))
        for part, kept in zip((odd.data, odd.indices, odd.indptr), before, strict=True):
            np.testing.assert_array_equal(part, kept)

    @pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
    def test_long_indices(self, make):
        long = make(self.CANONICAL)
        long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
        assert long.indices.dtype == np.int64
        np.testing.assert_array_equal(self.predicted(long), self.predicted(self.CANONICAL))
        assert long.indices.dtype == np.int64

    def test_room_behind_the_last_row(self):
        """SciPy allows for longer arrays than it reads."""
        roomy = self.CANONICAL.copy()
        roomy.data = np.r_[roomy.data, np.full(9, np.nan)]
        roomy.indices = np.r_[roomy.indices, np.zeros(9, roomy.indices.dtype)]
        np.testing.assert_array_equal(self.predicted(roomy), self.predicted(self.CANONICAL))

    def test_zeros_that_are_stored(self):
        stored = scipy.sparse.csr_array((self.DENSE.ravel(), np.tile(np.arange(5), 40), np.arange(0, 201, 5)), (40, 5))
        assert stored.nnz == 200
        np.testing.assert_array_equal(self.predicted(stored), self.predicted(self.CANONICAL))

    @pytest.mark.parametrize("make", [scipy.sparse.csc_array, scipy.sparse.coo_array, scipy.sparse.lil_array])
    def test_other_storage(self, make):
        np.testing.assert_array_equal(self.predicted(make(self.CANONICAL)), self.predicted(self.CANONICAL))

    @pytest.mark.filterwarnings("ignore:pandas.DataFrame with sparse columns found")
    @pytest.mark.parametrize("estimator", [LOG, make_pipeline(MaxAbsScaler(), LOG)])
    def test_data_frames_of_sparse_columns(self, estimator):
        """scikit-learn reads them as sparse rows, whose intercept takes smaller steps."""
        frame = pandas.DataFrame.sparse.from_spmatrix(self.CANONICAL)
        asked = {"cv": FOLDS, "strategy": "tree", "method": "decision_function"}
        found = cross_val_predict(estimator, frame, y, **asked)
        own = cross_val_predict(estimator, frame, y, native=False, **asked)
        np.testing.assert_allclose(found, own, rtol=1e-9, atol=1e-9)
        frame[0] = frame[0].sparse.to_dense()  # a mixture is dense
        found = cross_val_predict(LOG, frame, y, **asked)
        np.testing.assert_allclose(found, cross_val_predict(LOG, self.DENSE, y, **asked), rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("dtype", ["int64", "int8", "bool", "float16"])
    def test_other_numbers(self, dtype):
        rows = scipy.sparse.csr_array((self.DENSE != 0).astype("int8" if dtype == "float16" else dtype))
        expected = scipy.sparse.csr_array((self.DENSE != 0).astype(float))
        np.testing.assert_array_equal(self.predicted(rows), self.predicted(expected))

    def test_rows_and_columns_without_entries(self):
        rows = scipy.sparse.lil_array(self.DENSE)
        rows[3], rows[:, [2]] = 0, 0
        rows = rows.tocsr()
        np.testing.assert_allclose(self.predicted(rows), self.predicted(rows, native=False), rtol=1e-9, atol=1e-9)
        empty = scipy.sparse.csr_array(X.shape)
        np.testing.assert_allclose(self.predicted(empty), self.predicted(empty, native=False), rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    @pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array, scipy.sparse.csr_matrix])
    @pytest.mark.parametrize("estimator", [LOG, SGDOneClassSVM(), OnePass(LOG)], ids=lambda one: type(one).__name__)
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_what_is_not_finite_is_named(self, n_jobs, estimator, make, value):
        spoilt = self.DENSE.copy()
        spoilt[23, 3] = value
        what = "NaN" if np.isnan(value) else "infinity"
        with pytest.raises(InputError, match=f"{what}.* at row 23, column 3"):
            cross_val_predict(estimator, make(spoilt), y, cv=FOLDS, strategy="tree", n_jobs=n_jobs)

    def test_what_is_not_finite_is_named_where_indices_are_out_of_order(self):
        spoilt = self.DENSE.copy()
        spoilt[23, 3] = np.nan
        with pytest.raises(InputError, match="NaN at row 23, column 3"):
            self.predicted(shuffled_indices(scipy.sparse.csr_array(spoilt)))

    def test_behind_a_scaler_that_cuts_off(self):
        """A row with NaN may get a finite prediction there: it is looked for all the same."""
        spoilt = X.copy()
        spoilt[23, 3] = np.inf
        with pytest.raises(InputError, match="at row 23, column 3"):
            cross_validate(make_pipeline(MinMaxScaler(clip=True), LOG), spoilt, y, cv=FOLDS, strategy="tree")


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("feature_range", [(2, 1), (1, 1), (0, float("nan"))])
def test_a_range_that_does_not_rise(feature_range, native):
    pipeline = make_pipeline(MinMaxScaler(feature_range), LOG)
    with pytest.raises(ValueError, match=r"feature_range|feature range|NaN"):
        cross_val_score(pipeline, X, y, strategy="tree", native=native, error_score="raise")
