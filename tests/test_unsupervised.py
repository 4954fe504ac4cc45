"""K-means, mixtures and densities are what their papers say, alone and in the tree."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.model_selection import cross_val_score as scikit_learns_cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from cases import assert_same_bits, trained
from treecv import (
    GaussianDensity,
    OnlineGaussianMixture,
    OnlineKMeans,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learners,
)
from treecv.data import Rows, load_covtype
from treecv.errors import InputError, UpdateError
from treecv.learner import Schema

RANDOM = np.random.default_rng(0)
CENTRES = RANDOM.normal(size=(4, 3)) * 6
X = (CENTRES[RANDOM.integers(0, 4, 400)] + RANDOM.normal(size=(400, 3))).astype(np.float64)
ESTIMATORS = [
    OnlineKMeans(4),
    OnlineKMeans(4, batch_size=16),
    OnlineGaussianMixture(4),
    GaussianDensity(),
    GaussianDensity("diagonal"),
]
EACH = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
SCHEMA = Schema(60, 3, "float64")


@parametrize_with_checks([OnlineKMeans(2), OnlineGaussianMixture(2), GaussianDensity(), GaussianDensity("diagonal")])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def macqueen(X, centres, counts):
    """MacQueen's rule, from centres that are there."""
    centres, counts = centres.copy(), counts.copy()
    for x in X:
        c = ((centres - x) ** 2).sum(axis=1).argmin()
        counts[c] += 1
        centres[c] += (x - centres[c]) / counts[c]
    return centres, counts


class TestKMeans:
    def test_is_macqueens_rule_once_there_are_centres(self):
        begun = OnlineKMeans(4, start=12).fit(X[:12])
        centres, counts = macqueen(X[12:], begun.cluster_centers_, begun.counts_)
        found = OnlineKMeans(4, start=12).fit(X)
        np.testing.assert_allclose(found.cluster_centers_, centres, rtol=1e-12)
        np.testing.assert_array_equal(found.counts_, counts)
        assert found.counts_.sum() == len(X)

    def test_every_centre_is_the_mean_of_its_rows(self):
        model = OnlineKMeans(3, start=3).fit(X[:3])
        dealt = [[centre] for centre in model.cluster_centers_]
        for x in X[3:]:
            dealt[int(model.predict(x[np.newaxis])[0])].append(x)
            model.partial_fit(x[np.newaxis])
        np.testing.assert_allclose(model.cluster_centers_, [np.mean(rows, axis=0) for rows in dealt], rtol=1e-9)

    def test_a_batch_is_dealt_out_before_any_centre_moves(self):
        blurred = np.random.default_rng(5).normal(size=(40, 3))
        model = OnlineKMeans(4, batch_size=30, start=10).fit(blurred[:10])
        labels, centres, counts = model.predict(blurred[10:]), model.cluster_centers_, model.counts_
        model.partial_fit(blurred[10:])
        for c in range(4):
            rows = blurred[10:][labels == c]
            mean = (counts[c] * centres[c] + rows.sum(axis=0)) / (counts[c] + len(rows))
            np.testing.assert_allclose(model.cluster_centers_[c], mean, rtol=1e-9)
        assert (OnlineKMeans(4, start=10).fit(blurred).cluster_centers_ != model.cluster_centers_).any()

    def test_the_first_centres_are_rows_far_from_each_other(self):
        apart = np.concatenate([np.random.default_rng(1).normal(100 * blob, 1, (10, 2)) for blob in range(4)])
        chosen = [OnlineKMeans(4, start=40, seed=seed).fit(apart).cluster_centers_ for seed in range(40)]
        hits = [len(set(np.rint(centres[:, 0] / 100))) == 4 for centres in chosen]
        assert np.mean(hits) > 0.9  # of rows drawn alike, 4! / 4^4 = 0.09
        assert len({centres.tobytes() for centres in chosen}) > 10
        np.testing.assert_array_equal(OnlineKMeans(4, start=40, seed=7).fit(apart).cluster_centers_, chosen[7])

    def test_a_weight_is_so_many_rows(self):
        learner = learners.KMeans(3, start=3)
        weighed, counted = trained(learner, X[:3], None), trained(learner, X[:3], None)
        learner.update(weighed, Rows(X[3:4], weights=np.array([2.0])))
        learner.update(counted, Rows(np.repeat(X[3:4], 2, axis=0)))
        np.testing.assert_allclose(weighed["centres"], counted["centres"], rtol=1e-12)
        assert_same_bits(weighed["counts"], counted["counts"])

    def test_fewer_rows_than_centres(self):
        with pytest.raises(InputError, match="n_clusters=9 centres cannot be chosen from 5 rows"):
            cross_val_score(OnlineKMeans(9), X[:5], cv=2)
        with pytest.raises(UpdateError, match="has learnt too few rows to predict"):
            cross_val_score(OnlineKMeans(4), X[:5], cv=2)
        with pytest.raises(InputError, match="start=3 rows are too few to choose n_clusters=4 centres from"):
            OnlineKMeans(4, start=3).fit(X)
        with pytest.raises(InputError, match="n_clusters=0 must be a whole number from 1 on"):
            OnlineKMeans(0).fit(X)

    def test_rows_that_are_all_the_same(self):
        model = OnlineKMeans(3).fit(np.ones((20, 2)))
        np.testing.assert_array_equal(model.cluster_centers_, np.ones((3, 2)))
        assert model.score(np.ones((4, 2))) == 0


class TestMixture:
    def test_one_component_finds_the_gaussian(self):
        rows = np.random.default_rng(1).normal([3, -2], [0.5, 2.0], (20_000, 2))
        model = OnlineGaussianMixture(1, power=1.0).fit(rows)
        np.testing.assert_allclose(model.means_, [[3, -2]], atol=0.05)
        np.testing.assert_allclose(model.covariances_, [[0.25, 4]], rtol=0.05)
        assert model.weights_ == [1]
        expected = norm(model.means_[0], np.sqrt(model.covariances_[0])).logpdf(rows[:50]).sum(axis=1)
        np.testing.assert_allclose(model.score_samples(rows[:50]), expected, rtol=1e-9)

    def test_the_density_is_that_of_its_components(self):
        model = OnlineGaussianMixture(4).fit(X)
        density = sum(
            weight * norm(mean, np.sqrt(variance)).pdf(X).prod(axis=1)
            for weight, mean, variance in zip(model.weights_, model.means_, model.covariances_, strict=True)
        )
        np.testing.assert_allclose(model.score_samples(X), np.log(density), rtol=1e-9)
        assert model.weights_.sum() == pytest.approx(1)

    def test_finds_components_that_are_apart(self):
        apart = np.concatenate([np.random.default_rng(2).normal(shift, 1, (200, 2)) for shift in (-50, 0, 50)])
        model = OnlineGaussianMixture(3, start=60).fit(np.random.default_rng(3).permutation(apart))
        np.testing.assert_allclose(model.weights_, 1 / 3, atol=0.1)
        np.testing.assert_allclose(np.sort(model.means_[:, 0]), [-50, 0, 50], atol=1)
        assert len(set(model.predict(apart[::200]))) == 3

    def test_settings_that_make_no_sense(self):
        for options, message in (
            ({"power": 1.5}, "power=1.5 must be at most 1"),
            ({"floor": 2.0}, "floor=2.0 must be at most 1"),
            ({"start": 1}, "start=1 rows are too few to choose n_components=2"),
        ):
            with pytest.raises(InputError, match=message):
                OnlineGaussianMixture(2, **options).fit(X)
        with pytest.raises(InputError, match="n_components=7 cannot be chosen from 6 rows"):
            OnlineGaussianMixture(7).fit(X[:6])


class TestGaussian:
    @pytest.mark.parametrize("covariance", ["full", "diagonal"])
    def test_is_the_density_of_the_rows(self, covariance):
        model = GaussianDensity(covariance, floor=1e-9).fit(X)
        np.testing.assert_allclose(model.mean_, X.mean(axis=0), rtol=1e-12)
        expected = np.cov(X.T, bias=True) + 1e-9 * np.eye(3)
        expected = expected if covariance == "full" else np.diag(np.diag(expected))
        own = model.covariance_ if covariance == "full" else np.diag(model.covariance_)
        np.testing.assert_allclose(own, expected, rtol=1e-10, atol=1e-12)
        density = multivariate_normal(X.mean(axis=0), expected).logpdf(X)
        np.testing.assert_allclose(model.score_samples(X), density, rtol=1e-9)

    def test_far_from_zero(self):
        near, far = GaussianDensity().fit(X), GaussianDensity().fit(X + 1e8)
        np.testing.assert_allclose(far.covariance_, near.covariance_, rtol=1e-5)

    @pytest.mark.parametrize("covariance", ["full", "diagonal"])
    def test_the_tree_is_exact(self, covariance):
        result = cross_validate(GaussianDensity(covariance), X[:60], cv="loo")
        assert result.exact
        expected = [GaussianDensity(covariance).fit(np.delete(X[:60], i, 0)).score(X[i : i + 1]) for i in range(60)]
        np.testing.assert_allclose(result["test_score"], expected, rtol=1e-9)

    def test_a_weight_is_so_many_rows(self):
        learner, weights = learners.Gaussian(), np.arange(60) % 3
        state = learner.init(SCHEMA)
        learner.update(state, Rows(X[:60], weights=weights.astype(float)))
        repeated = trained(learner, np.repeat(X[:60], weights, axis=0), None)
        np.testing.assert_allclose(learner.covariance(state), learner.covariance(repeated), rtol=1e-9)

    def test_an_unknown_covariance(self):
        with pytest.raises(InputError, match="covariance='tied' must be 'full' or 'diagonal'"):
            GaussianDensity("tied").fit(X)


class TestFrontDoor:
    @EACH
    def test_standard_is_scikit_learns(self, estimator):
        found = cross_val_score(estimator, X, cv=5, strategy="standard")
        np.testing.assert_allclose(found, scikit_learns_cross_val_score(estimator, X, cv=5), rtol=1e-9)

    @EACH
    def test_leave_one_out_says_how_well_a_row_fits(self, estimator):
        scores = cross_val_score(estimator, X, cv="loo", order="randomized", seed=1)
        assert scores.shape == (400,)
        assert scores.mean() == pytest.approx(estimator.fit(X).score(X), rel=0.5)

    @EACH
    def test_what_the_models_say_of_the_rows(self, estimator):
        said = cross_val_predict(estimator, X, cv=5, method="score_samples")
        scores = cross_val_score(estimator, X, cv=5)
        np.testing.assert_allclose(scores, said.reshape(5, -1).mean(axis=1), rtol=1e-12)
        if not hasattr(estimator, "predict"):
            with pytest.raises(AttributeError, match="has no method 'predict'"):
                cross_val_predict(estimator, X, cv=5)
            return
        result = cross_validate(estimator, X, cv=5, return_estimator=True, return_predictions=True)
        for fold, model in enumerate(result["estimator"]):
            rows = slice(80 * fold, 80 * fold + 80)
            assert_same_bits(result["predictions"][rows], model.predict(X[rows]))
            assert model.score(X[rows]) == pytest.approx(result["test_score"][fold])

    @EACH
    def test_single_precision_is_near_double(self, estimator):
        found = cross_val_score(estimator, X.astype(np.float32), cv=10)
        np.testing.assert_allclose(found, cross_val_score(estimator, X, cv=10), rtol=0.05)

    def test_on_real_data(self):
        rows = load_covtype()[0][:3000, :10].astype(np.float32)
        rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        asked = {"cv": "loo", "order": "randomized", "seed": 0}
        one, many = (cross_val_score(OnlineKMeans(k), rows, **asked).mean() for k in (1, 12))
        assert one == pytest.approx(-10, rel=0.01)  # the variance of ten features
        assert -10 < many < -4
        flat = cross_val_score(GaussianDensity("diagonal"), rows, cv="loo").mean()
        assert flat < cross_val_score(GaussianDensity(), rows, cv="loo").mean()
        assert flat < cross_val_score(OnlineGaussianMixture(8), rows, **asked).mean()
