"""Models of river: what they are told, what they say, and that the tree trains them as river would."""

import copy
import pickle
import random
import sys
import time

import numpy as np
import pandas
import pytest
import scipy.sparse
from sklearn.base import is_classifier, is_clusterer, is_regressor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import scale

import reference
from cases import uneven
from treecv.adapters import river as adapter
from treecv.adapters.river import RiverClassifier, RiverEstimator, RiverLearner, RiverRegressor, is_river, kind
from treecv.checks import check_learner
from treecv.data import Chunks, Feed, Rows
from treecv.errors import CapabilityError, InputError
from treecv.learner import Schema
from treecv.order import Stream
from treecv.probes import Predictions, Sink
from treecv.strategies import Standard, Tree, run

pytest.importorskip("river")

from river import (
    anomaly,
    cluster,
    compose,
    feature_extraction,
    forest,
    linear_model,
    multiclass,
    multioutput,
    naive_bayes,
    optim,
    preprocessing,
    stream,
    tree,
)


def iris(n=150, seed=0):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))[:n]
    return scale(X)[order], y[order]


def flowers(n=150):
    X, y = iris(n)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


def two_classes(n=60):
    X, y = iris(150)
    return X[y > 0][:n], np.array(["virginica", "versicolor"])[y[y > 0] - 1][:n]


def numbered(n=60):
    X, y = two_classes(n)
    return X, 3 + 2 * (y == "virginica")


def diabetes(n=60):
    X, y = load_diabetes(return_X_y=True)
    return scale(X)[:n], y[:n] / 100


def schema_of(X, y=None, classes=None):
    return Schema(len(Rows(X)), 4, "float64", classes)


def labels_of(X, y):
    return schema_of(X, classes=np.unique(y))


def learnt(model, X, y, schema=None, **settings):
    learner = RiverLearner(model, **settings)
    state = learner.init(schema or labels_of(X, y))
    learner.update(state, Rows(X, y))
    return learner, state


def softmax():
    return preprocessing.StandardScaler() | linear_model.SoftmaxRegression()


CLASSIFIERS = {
    "softmax": softmax,
    "naive Bayes": naive_bayes.GaussianNB,
    "Hoeffding tree": lambda: tree.HoeffdingTreeClassifier(grace_period=5),
    "one against the rest": lambda: multiclass.OneVsRestClassifier(linear_model.LogisticRegression(optim.Adam(0.1))),
    "seeded forest": lambda: forest.ARFClassifier(n_models=2, seed=3),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_laws_of_classifiers(name):
    X, y = iris(40)
    check_learner(RiverLearner(CLASSIFIERS[name]()), Rows(X, y), labels_of(X, y))


@pytest.mark.parametrize("model", [linear_model.LogisticRegression(), linear_model.PAClassifier()], ids=repr)
def test_laws_of_classifiers_for_two_classes(model):
    X, y = numbered(40)
    check_learner(RiverLearner(model), Rows(X, y), labels_of(X, y))
    check_learner(RiverLearner(model), Rows(X.tolist(), y.tolist()), labels_of(X, y))


def test_laws_of_regressors_clusterers_and_batches():
    X, y = diabetes(40)
    check_learner(RiverLearner(linear_model.LinearRegression()), Rows(X, y), schema_of(X))
    check_learner(RiverLearner(tree.HoeffdingTreeRegressor(grace_period=5)), Rows(X, y), schema_of(X))
    check_learner(RiverLearner(cluster.KMeans(3, seed=2)), Rows(X), schema_of(X))
    check_learner(RiverLearner(linear_model.LinearRegression(), batch_size=7), Rows(X, y), schema_of(X))


@pytest.mark.parametrize("table", [pandas.DataFrame, scipy.sparse.csr_array, list], ids=lambda table: table.__name__)
def test_laws_whatever_holds_the_rows(table):
    X, y = numbered(40)
    check_learner(RiverLearner(linear_model.LogisticRegression()), Rows(table(X), y), labels_of(X, y))


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("k", [5, 60])
def test_a_leaf_is_river_trained_in_the_trees_order(name, k):
    X, y = flowers(60)
    chunks = uneven(60, k) if k < 60 else Chunks(60)
    feed, learner = Feed(Rows(X, y), chunks), RiverLearner(CLASSIFIERS[name]())
    schema = labels_of(X, y)
    sink = Sink(k, Predictions(60, dtype=y.dtype), further=(Predictions(60, "predict_proba"),))
    run(Tree(), learner, schema, feed, sink)
    for fold in range(0, k, 1 + k // 8):
        model = CLASSIFIERS[name]()
        for chunk in reference.tree_order(fold, k):
            for row in range(*chunks.span(chunk, chunk)):
                model.learn_one(dict(enumerate(X[row].tolist())), str(y[row]))
        for row in range(*chunks.span(fold, fold)):
            said = model.predict_proba_one(dict(enumerate(X[row].tolist())))
            expected = np.array([said.get(label, 0.0) for label in schema.classes.tolist()])
            assert sink.predicted[row] == max(said, key=said.get)
            np.testing.assert_array_equal(sink.further[0].array[row], expected / expected.sum())


def test_standard_is_river_trained_in_stored_order():
    X, y = diabetes(30)
    feed, sink = Feed(Rows(X, y), uneven(30, 4)), Sink(4, Predictions.over(30))
    record = run(Standard(), RiverLearner(linear_model.LinearRegression()), schema_of(X), feed, sink)
    assert record.counts.row_updates == 90

    def train(X, y):
        model = linear_model.LinearRegression()
        for x, target in stream.iter_array(X, y):
            model.learn_one(x, target)
        return model

    def predict(model, X):
        return [model.predict_one(x) for x, _ in stream.iter_array(X)]

    folds = [range(*feed.chunks.span(fold, fold)) for fold in range(4)]
    np.testing.assert_array_equal(sink.predicted, reference.k_fold(train, predict, X, y, folds))


def test_the_users_model_stays_as_it_is():
    X, y = flowers(60)
    model = softmax()
    model.learn_one({0: 1.0}, "setosa")  # what it knows already is not taken over
    before = pickle.dumps(model)
    learner, state = learnt(model, X, y)
    learner.fitted(state).predict(X)
    assert learner.model is not model
    assert pickle.dumps(model) == before
    assert "LinearRegression" not in repr(state.model)
    assert learner.init(labels_of(X, y)).model["SoftmaxRegression"].weights == {}
    regressor = preprocessing.StandardScaler() | linear_model.LinearRegression()
    before = pickle.dumps(regressor)
    learnt(regressor, X, np.arange(60.0), schema_of(X))
    assert pickle.dumps(regressor) == before


def test_what_an_optimizer_remembers_is_copied_with_the_model():
    X, y = two_classes(60)
    learner, state = learnt(linear_model.LogisticRegression(optim.Adam(0.1)), X[:30], y[:30])
    copied = learner.copy(state)
    moments = copied.model.optimizer.v
    assert moments == state.model.optimizer.v
    assert dict(moments)
    before = copy.deepcopy(dict(state.model.optimizer.v))
    learner.update(copied, Rows(X[30:], y[30:]))
    assert dict(state.model.optimizer.v) == before != dict(copied.model.optimizer.v)
    # river's own way forgets them, which is why it is none of ours
    assert state.model.clone(include_attributes=True).optimizer.v is None


def test_the_fastest_way_to_copy_is_chosen():
    X, y = flowers(150)
    learner, state = learnt(naive_bayes.GaussianNB(), X, y)

    def seconds(copying):
        best = float("inf")
        for _ in range(7):
            begin = time.perf_counter()
            copying()
            best = min(best, time.perf_counter() - begin)
        return best

    learner.copy(state)  # the first one measures
    assert seconds(lambda: learner.copy(state)) < 0.85 * seconds(lambda: copy.deepcopy(state.model))


def test_learn_many_only_when_asked_for():
    X, y = diabetes(60)
    model, schema = linear_model.LinearRegression(), schema_of(X)
    learner, by_row = learnt(model, X, y, schema)
    many, by_batch = learnt(model, X, y, schema, batch_size=25)
    assert learner.call_free
    assert not many.call_free
    assert not np.allclose(learner.predict(by_row, Rows(X)), many.predict(by_batch, Rows(X)))
    expected = linear_model.LinearRegression()
    frame, targets = pandas.DataFrame(X), pandas.Series(y)
    for begin in (0, 25, 50):
        expected.learn_many(frame[begin : begin + 25], targets[begin : begin + 25])
    assert by_batch.model.weights == expected.weights


def test_learn_many_of_other_tables_and_models():
    X, y = two_classes(60)
    named = pandas.DataFrame(X, columns=list("abcd"), index=np.arange(60)[::-1] + 7)
    _, expected = learnt(linear_model.LogisticRegression(), X, y, batch_size=16)
    weights = [expected.model.weights[i] for i in range(4)]
    for table in (named, pytest.importorskip("polars").DataFrame(X, schema=list("abcd"))):
        _, state = learnt(linear_model.LogisticRegression(), table, y, batch_size=16)
        assert [state.model.weights[name] for name in "abcd"] == weights
    counts = scipy.sparse.csr_array((X > 0).astype(int))
    _, state = learnt(naive_bayes.MultinomialNB(), counts, y, batch_size=16)
    _, by_row = learnt(naive_bayes.MultinomialNB(), counts.toarray(), y)  # it counts, so that batches do not matter
    assert state.model.class_counts == by_row.model.class_counts
    assert dict(state.model.feature_counts) == {
        i: {c: n for c, n in found.items() if n} for i, found in by_row.model.feature_counts.items()
    }


def test_batches_of_a_clusterer():
    class Many(cluster.KMeans):
        def learn_many(self, X):
            for _, row in X.iterrows():
                self.learn_one(row.to_dict())

    X, _ = diabetes(20)
    _, one = learnt(cluster.KMeans(2, seed=1), X, None, schema_of(X))
    _, many = learnt(Many(2, seed=1), X, None, schema_of(X), batch_size=8)
    assert one.model.centers == many.model.centers


def test_batches_need_learn_many_in_every_step():
    for model in (
        tree.HoeffdingTreeClassifier(),
        preprocessing.Normalizer() | linear_model.LogisticRegression(),
        (preprocessing.StandardScaler() + preprocessing.Normalizer()) | linear_model.LogisticRegression(),
    ):
        with pytest.raises(
            CapabilityError, match=r"batch_size=8 needs learn_many, which (Hoeffding|Normalizer).* does"
        ):
            RiverLearner(model, batch_size=8)
    for size in (0, -1, 2.5, True, "8"):
        with pytest.raises(InputError, match=rf"batch_size={size!r}: it is a number of rows"):
            RiverLearner(softmax(), batch_size=size)


def test_batches_need_pandas(monkeypatch):
    X, y = diabetes(20)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(CapabilityError, match=r"pandas is not installed: pip install pandas"):
        learnt(linear_model.LinearRegression(), X, y, schema_of(X), batch_size=8)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_before_learning_anything(name):
    X, _ = flowers(10)
    learner = RiverLearner(CLASSIFIERS[name]())
    state = learner.init(Schema(10, 4, "float64", np.unique(flowers()[1])))
    assert learner.predict(state, Rows(X)).tolist() == ["setosa"] * 10
    shares = learner.respond(state, Rows(X), "predict_proba")
    np.testing.assert_allclose(shares, np.full((10, 3), 1 / 3))


def test_before_learning_anything_a_number_is_0():
    X, _ = diabetes(5)
    for model in (linear_model.LinearRegression(), tree.HoeffdingTreeRegressor()):
        learner = RiverLearner(model)
        predicted = learner.predict(learner.init(schema_of(X)), Rows(X))
        assert predicted.tolist() == [0.0] * 5
        assert predicted.dtype == float


def test_a_model_that_says_nothing_says_0():
    class Silent(linear_model.LinearRegression):
        def predict_one(self, x):
            return None

    X, y = diabetes(5)
    learner, state = learnt(Silent(), X, y, schema_of(X))
    assert learner.predict(state, Rows(X)).tolist() == [0.0] * 5

    class Mute(linear_model.LogisticRegression):
        def predict_one(self, x):
            return None

    X, y = two_classes(20)
    learner, state = learnt(Mute(), X, y)
    assert learner.predict(state, Rows(X)).tolist() == ["versicolor"] * 20


def test_a_single_label():
    X, _ = two_classes(20)
    learner, state = learnt(linear_model.LogisticRegression(), X, np.full(20, "one"))
    for positive in (False, True):
        state.model.predict_one = lambda x, positive=positive: positive
        assert learner.predict(state, Rows(X)).tolist() == ["one"] * 20


@pytest.mark.parametrize("labels", [["b", "a"], [False, True], [3, 7], [0.5, -1.0], [np.int8(4), np.int8(1)]], ids=repr)
def test_labels_of_any_kind(labels):
    X, y = two_classes(60)
    y = np.array(labels)[(y == "virginica").astype(int)]
    for model in (linear_model.LogisticRegression(), naive_bayes.GaussianNB()):
        learner, state = learnt(model, X, y)
        predicted = learner.predict(state, Rows(X))
        assert predicted.dtype == y.dtype
        assert (predicted == y).mean() > 0.7
        shares = learner.respond(state, Rows(X), "predict_proba")
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        np.testing.assert_array_equal(state.classes[shares.argmax(axis=1)], predicted)
        assert all(
            type(label) is type(np.array(labels).tolist()[0]) for label in getattr(state.model, "class_counts", {})
        )


@pytest.mark.parametrize("table", [np.array, list, pandas.Series, pandas.Categorical], ids=lambda table: table.__name__)
def test_targets_from_any_table(table):
    X, y = flowers(40)
    learner, state = learnt(softmax(), X, table(y.tolist()), labels_of(X, y))
    _, expected = learnt(softmax(), X, y)
    np.testing.assert_array_equal(learner.predict(state, Rows(X)), learner.predict(expected, Rows(X)))


def test_columns_have_their_names():
    polars = pytest.importorskip("polars")
    mixed = pandas.DataFrame({"size": [1.5, 2.5], "count": [3, 4], "colour": ["red", "blue"], "new": [True, False]})
    expected = [x for x, _ in stream.iter_frame(mixed)]
    for table in (mixed, polars.DataFrame(mixed.to_dict("list"))):
        found = list(adapter.dictionaries(table))
        assert found == expected
        assert [list(map(type, x.values())) for x in found] == [[float, int, str, bool]] * 2
    (numbers,) = adapter.dictionaries(mixed[["size", "count"]][:1])
    assert [*map(type, numbers.values())] == [float, int]
    X, y = flowers(60)
    model = compose.Select("b", "d") | softmax()
    learner, state = learnt(model, pandas.DataFrame(X, columns=list("abcd")), y)
    assert set(state.model["SoftmaxRegression"].weights["setosa"]) == {"b", "d"}
    assert len(learner.predict(state, Rows(pandas.DataFrame(X, columns=list("abcd"))))) == 60
    with pytest.raises(InputError, match=r"X has several columns of one name among \['a', 'a'\]"):
        list(adapter.dictionaries(pandas.DataFrame(X[:, :2], columns=["a", "a"])))


def test_rows_as_dictionaries(monkeypatch):
    X = np.array([[1.0, 0.0], [0.0, 2.5]])
    assert list(adapter.dictionaries(X)) == [{0: 1.0, 1: 0.0}, {0: 0.0, 1: 2.5}]
    assert type(next(adapter.dictionaries(X.astype("float32")))[0]) is float
    assert list(adapter.dictionaries(X.tolist())) == [{0: 1.0, 1: 0.0}, {0: 0.0, 1: 2.5}]
    assert list(adapter.dictionaries(scipy.sparse.coo_array(X))) == [{0: 1.0}, {1: 2.5}]
    given = [{"a": 1}, {"b": 2}]
    assert list(adapter.dictionaries(given)) == given
    monkeypatch.setattr(adapter, "_BLOCK", 3)
    many = np.arange(20).reshape(10, 2)
    assert list(adapter.dictionaries(many)) == [dict(enumerate(row)) for row in many.tolist()]


def test_texts_are_given_as_they_are():
    texts = ["a good film", "a bad film", "good good", "bad bad"] * 10
    y = np.array(["yes", "no"] * 20)
    model = feature_extraction.BagOfWords() | naive_bayes.MultinomialNB()
    for table in (texts, np.array(texts), pandas.Series(texts)):
        learner, state = learnt(model, table, y)
        assert learner.predict(state, Rows(["good", "bad"])).tolist() == ["yes", "no"]


def test_a_seed_that_was_left_out_comes_from_the_place():
    X, y = flowers(60)
    schema = labels_of(X, y)
    learner = RiverLearner(preprocessing.StandardScaler() | forest.ARFClassifier(n_models=3))
    assert learner.draws
    assert not learner.call_free

    def shares(seed):
        feed = Feed(Rows(X, y), uneven(60, 5), seed=seed, draws=True)
        sink = Sink(5, None, further=(Predictions(60, "predict_proba"),))
        run(Tree(), learner, schema, feed, sink)
        return sink.further[0].array

    np.testing.assert_array_equal(shares(1), shares(1))
    assert not np.array_equal(shares(1), shares(2))
    seeded = RiverLearner(forest.ARFClassifier(n_models=3, seed=1))
    assert not seeded.draws
    assert seeded.call_free


def test_siblings_do_not_replay_random_numbers():
    X, y = flowers(30)
    learner = RiverLearner(forest.ARFClassifier(n_models=2))
    state = learner.init(labels_of(X, y))
    twin = learner.copy(state)
    (mine,), (theirs,) = state.generators, twin.generators
    assert mine is state.model._rng
    assert theirs is twin.model._rng is not mine
    for one, place in ((state, 1), (twin, 2)):
        learner.update(one, Rows(X, y, stream=Stream(0).at(place)))
    assert mine.random() != theirs.random()


@pytest.mark.parametrize("make", [random.Random, np.random.RandomState, np.random.default_rng])
def test_generators_of_all_kinds(make):
    class Holder:
        def __init__(self):
            self.inside = [{"generator": make()}]
            self.itself = self

    generators = [adapter._generators(Holder()) for _ in range(2)]
    for found in generators:
        adapter._draw_from(found, Stream(4))
    (one,), (other,) = generators
    assert [one.random() for _ in range(3)] == [other.random() for _ in range(3)]


def test_kinds():
    assert kind(softmax()) == kind(linear_model.LogisticRegression()) == "classifier"
    assert kind(preprocessing.StandardScaler() | linear_model.LinearRegression()) == "regressor"
    assert kind(preprocessing.TargetStandardScaler(linear_model.LinearRegression())) == "regressor"
    assert kind(preprocessing.StandardScaler() | cluster.KMeans()) == "clusterer"
    assert kind(anomaly.HalfSpaceTrees()) == "anomaly detector"
    assert kind(preprocessing.StandardScaler()) == "transformer"
    assert kind(multioutput.ClassifierChain(linear_model.LogisticRegression())) == kind(object()) == "other"
    assert is_river(softmax())
    assert not any(is_river(other) for other in (linear_model.LinearRegression, object(), RiverClassifier(softmax())))


def test_kinds_without_river(monkeypatch):
    monkeypatch.delitem(sys.modules, "river.base")
    assert kind(softmax()) == "other"


@pytest.mark.parametrize(
    "model",
    [
        anomaly.HalfSpaceTrees(),
        preprocessing.StandardScaler() | preprocessing.Normalizer(),
        multioutput.ClassifierChain(linear_model.LogisticRegression()),
    ],
    ids=kind,
)
def test_what_predicts_nothing_is_refused(model):
    with pytest.raises(CapabilityError, match=rf"{kind(model)}.*predicts nothing for held-out rows. Put it before"):
        RiverLearner(model)


def test_a_model_for_two_classes_is_not_given_three():
    X, y = flowers(30)
    with pytest.raises(CapabilityError, match=r"y holds 3: .*OneVsRestClassifier\(StandardScaler \| LogisticRegr"):
        learnt(preprocessing.StandardScaler() | linear_model.LogisticRegression(), X, y)


def test_other_responses_are_refused():
    X, y = flowers(30)
    learner, state = learnt(softmax(), X, y)
    assert learner.respond(state, Rows(X), "predict").tolist() == learner.predict(state, Rows(X)).tolist()
    with pytest.raises(CapabilityError, match=r"has no decision_function: ask for predict and predict_proba"):
        learner.respond(state, Rows(X), "decision_function")
    learner, state = learnt(linear_model.LinearRegression(), X, np.arange(30.0), schema_of(X))
    with pytest.raises(CapabilityError, match=r"has no predict_proba: ask for predict\."):
        learner.respond(state, Rows(X), "predict_proba")
    learner, state = learnt(multiclass.OneVsOneClassifier(linear_model.LogisticRegression()), X, y)
    with pytest.raises(CapabilityError, match="OneVsOneClassifier has no predict_proba_one"):
        learner.respond(state, Rows(X), "predict_proba")
    assert not hasattr(learner.fitted(state), "predict_proba")


def test_targets_and_weights_that_cannot_be_learnt():
    X, y = diabetes(10)
    with pytest.raises(InputError, match=r"y has the shape \(10, 1\): .* a y of shape \(n,\)"):
        learnt(linear_model.LinearRegression(), X, y[:, np.newaxis], schema_of(X))
    learner = RiverLearner(linear_model.LinearRegression())
    learner.check_metadata([])
    with pytest.raises(InputError, match=r"params='sample_weight': models of river are told x and y alone"):
        learner.update(learner.init(schema_of(X)), Rows(X, y, np.ones(10)))
    with pytest.raises(InputError, match="params='when'"):
        learner.update(learner.init(schema_of(X)), Rows(X, y, metadata={"when": y}))


def test_labels_that_nobody_knows():
    X, y = flowers(30)
    learner, state = learnt(softmax(), X, y, Schema(30, 4, "float64", np.array(["rose", "tulip"])))
    with pytest.raises(InputError, match=r"predicts '\w+', which is not among the labels \['rose', 'tulip'\]"):
        learner.predict(state, Rows(X))


def test_fitted_classifiers_have_scikit_learns_shape():
    X, y = flowers(120)
    learner, state = learnt(softmax(), X[:60], y[:60])
    fitted = learner.fitted(state)
    assert is_classifier(fitted)
    assert fitted.model_ is state.model
    assert fitted.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert fitted.score(X[60:], y[60:]) == (fitted.predict(X[60:]) == y[60:]).mean() > 0.8
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1)
    again = RiverClassifier(softmax()).fit(pandas.DataFrame(X[:60]), y[:60].tolist())
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert cross_val_predict(RiverClassifier(softmax()), X, y).shape == (120,)
    assert isinstance(again.__treecv_learner__(schema_of(X)), RiverLearner)


def test_fitted_regressors_and_clusterers_have_scikit_learns_shape():
    X, y = diabetes(60)
    learner, state = learnt(linear_model.LinearRegression(), X, y, schema_of(X))
    fitted = learner.fitted(state)
    assert is_regressor(fitted)
    assert 0 < fitted.score(X, y) < 1
    np.testing.assert_array_equal(
        RiverRegressor(linear_model.LinearRegression()).fit(X, y).predict(X), fitted.predict(X)
    )
    learner, state = learnt(cluster.KMeans(3, seed=2), X, None, schema_of(X))
    assert is_clusterer(learner.fitted(state))
    assert isinstance(learner.fitted(state), RiverEstimator)
    assert set(learner.fitted(state).predict(X).tolist()) <= {0, 1, 2}
