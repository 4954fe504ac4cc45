"""Nets of torch and of skorch: steps constant per row, copies that are apart, numbers drawn by place."""

import copy
import pickle
import sys
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_diabetes, load_digits
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import scale

import reference
from cases import uneven
from treecv.adapters import torch as adapter
from treecv.adapters.torch import SkorchLearner, TorchLearner, is_skorch
from treecv.checks import check_learner
from treecv.checks.laws import Case, check_index, check_rows_are_apart, check_tree_order, iter_laws
from treecv.data import Chunks, Feed, Rows
from treecv.errors import CapabilityError, InputError, UpdateError
from treecv.estimators.torch import TorchClassifier, TorchRegressor
from treecv.learner import Schema
from treecv.order import Stream
from treecv.probes import Predictions, Sink
from treecv.strategies import Tree, run

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")
callbacks = pytest.importorskip("skorch.callbacks")

SGD = partial(torch.optim.SGD, lr=0.3)
MOMENTUM = partial(torch.optim.SGD, lr=0.1, momentum=0.9)
ADAM = partial(torch.optim.Adam, lr=0.01)


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def digits(n=80):
    X, y = load_digits(return_X_y=True)
    return (X[:n] / 16).astype(np.float32), y[:n]


def diabetes(n=60):
    X, y = load_diabetes(return_X_y=True)
    return scale(X)[:n].astype(np.float32), (y[:n] / 100).astype(np.float32)


def net(inputs=64, outputs=10, hidden=16, dropout=0.0, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layers = [torch.nn.Linear(inputs, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, outputs)]
    return (
        torch.nn.Sequential(*layers[:2], torch.nn.Dropout(dropout), layers[2])
        if dropout
        else torch.nn.Sequential(*layers)
    )


def skorch_net(module=None, **settings):
    settings = {
        "criterion": torch.nn.CrossEntropyLoss,
        "optimizer": torch.optim.SGD,
        "lr": 0.3,
        "batch_size": 8,
    } | settings
    return skorch.NeuralNetClassifier(net() if module is None else module, **settings)


def schema_of(X, y=None):
    return Schema(len(X), X.shape[1], "float32", None if y is None else np.unique(y))


def weights_of(module):
    return np.concatenate([value.detach().numpy().ravel() for value in module.state_dict().values()])


def learnt(learner, X, y, schema=None, **more):
    state = learner.init(schema or schema_of(X, y))
    learner.update(state, Rows(X, y, **more))
    return state


def by_hand(module, optimizer, X, y, batches, loss=torch.nn.functional.cross_entropy, nominal=8):
    """Training as a tutorial has it, but for the shorter steps of short batches."""
    module = copy.deepcopy(module)
    optimizer = optimizer(module.parameters())
    usual = optimizer.param_groups[0]["lr"]
    for batch in batches:
        optimizer.param_groups[0]["lr"] = usual * len(batch) / nominal
        optimizer.zero_grad()
        loss(module(torch.tensor(X[batch])), torch.tensor(y[batch])).backward()
        optimizer.step()
    return module


def cut(order, size=8):
    return [order[begin : begin + size] for begin in range(0, len(order), size)]


def accuracy_of_leave_one_out(learner, X, y):
    feed, sink = Feed(Rows(X, y), Chunks(len(X))), Sink(len(X), Predictions(len(X)))
    run(Tree(), learner, schema_of(X, y), feed, sink)
    assert sink.error is None
    return (sink.predicted == y).mean()


@pytest.mark.parametrize("optimizer", [SGD, MOMENTUM, ADAM], ids=["SGD", "momentum", "Adam"])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_laws_of_a_classifier(optimizer, dropout):
    X, y = digits(40)
    rows = Rows(X, y, stream=Stream(5))
    check_learner(TorchLearner(net(dropout=dropout), optimizer, batch_size=8), rows, schema_of(X, y))


def test_laws_of_a_net_of_skorch():
    X, y = digits(40)
    check_learner(SkorchLearner(skorch_net()), Rows(X, y), schema_of(X, y))
    shuffled = skorch_net(net(dropout=0.4), iterator_train__shuffle=True, optimizer__momentum=0.9)
    check_learner(SkorchLearner(shuffled), Rows(X, y, stream=Stream(5)), schema_of(X, y))


def test_laws_of_a_regressor():
    X, y = diabetes(40)
    case = Case(TorchLearner(net(10, 1), SGD, batch_size=8), schema_of(X), Rows(X, y))
    for law in iter_laws(case.learner):
        if law not in (check_rows_are_apart, check_index, check_tree_order):
            law(case)
    # These ask for other rows together, and a product with another matrix rounds otherwise.
    state = case.trained((0, 40))
    single = [case.learner.predict(state, Rows(X[row : row + 1])) for row in range(40)]
    np.testing.assert_allclose(np.concatenate(single), case.predictions(state), rtol=1e-5)


@pytest.mark.parametrize("k", [5, 40])
@pytest.mark.parametrize("optimizer", [SGD, MOMENTUM], ids=["SGD", "momentum"])
@pytest.mark.parametrize("bare", [True, False], ids=["torch", "skorch"])
def test_a_leaf_is_trained_as_by_hand_in_the_trees_order(k, optimizer, bare):
    X, y = digits(40)
    chunks = uneven(40, k) if k < 40 else Chunks(40)
    feed, module = Feed(Rows(X, y), chunks), net()
    if bare:
        learner = TorchLearner(module, optimizer, batch_size=8)
    else:
        learner = SkorchLearner(
            skorch_net(
                module,
                optimizer=torch.optim.SGD,
                **{name if name == "lr" else f"optimizer__{name}": value for name, value in optimizer.keywords.items()},
            )
        )
    sink = Sink(k, Predictions(40), further=(Predictions(40, "predict_proba"),))
    run(Tree(), learner, schema_of(X, y), feed, sink)
    for fold in range(0, k, 1 + k // 6):
        batches, first, last = [], 0, k - 1
        while first < last:  # each update starts a batch
            middle = (first + last) // 2
            learn = (middle + 1, last) if fold <= middle else (first, middle)
            batches += cut(np.arange(*chunks.span(*learn)))
            first, last = (first, middle) if fold <= middle else (middle + 1, last)
        assert [*np.concatenate(batches)] == [
            row for chunk in reference.tree_order(fold, k) for row in range(*chunks.span(chunk, chunk))
        ]
        trained = by_hand(module, optimizer, X, y, batches)
        held_out = slice(*chunks.span(fold, fold))
        with torch.no_grad():
            outputs = trained(torch.tensor(X[held_out]))
        np.testing.assert_allclose(sink.further[0].array[held_out], outputs.softmax(1).numpy(), rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(sink.predicted[held_out], outputs.argmax(1).numpy())


@pytest.mark.parametrize("bare", [True, False], ids=["torch", "skorch"])
def test_a_full_step_on_single_rows_wrecks_the_model(bare, monkeypatch):
    X, y = digits(400)
    if bare:
        learner = TorchLearner(net(hidden=32), partial(torch.optim.SGD, lr=0.8), batch_size=32)
    else:
        learner = SkorchLearner(skorch_net(net(hidden=32), lr=0.8, batch_size=32))
    constant = accuracy_of_leave_one_out(learner, X, y)
    monkeypatch.setattr(adapter, "per_row", lambda *given: nullcontext())
    full = accuracy_of_leave_one_out(learner, X, y)
    assert constant > 0.6
    assert full < 0.3


@pytest.mark.parametrize("groups", [1, 2])
def test_the_step_is_as_long_as_the_rows_are_worth(groups):
    weights = [torch.nn.Parameter(torch.zeros(2)) for _ in range(groups)]
    optimizer = torch.optim.SGD([{"params": [w], "lr": 0.5 + i} for i, w in enumerate(weights)])

    def steps():
        return [group["lr"] for group in optimizer.param_groups]

    usual = steps()
    with adapter.per_row([optimizer], 2, 8):
        assert steps() == [step / 4 for step in usual]
    assert steps() == usual
    with adapter.per_row([optimizer], 8, 8):
        assert steps() == usual
    with pytest.raises(ZeroDivisionError), adapter.per_row([optimizer], 1, 8):
        raise ZeroDivisionError
    assert steps() == usual
    del optimizer.param_groups[0]["lr"]
    with (
        pytest.raises(CapabilityError, match=r"a batch has 2 of 8 rows .* no 'lr' to scale"),
        adapter.per_row([optimizer], 2, 8),
    ):
        pass  # pragma: no cover


@pytest.mark.parametrize("bare", [True, False], ids=["torch", "skorch"])
def test_a_summed_loss_is_constant_per_row_by_itself(bare):
    X, y = digits(20)
    loss = torch.nn.CrossEntropyLoss(reduction="sum")
    if bare:
        state = learnt(TorchLearner(net(), partial(torch.optim.SGD, lr=0.01), loss, batch_size=8), X, y)
        found = state.module
    else:
        state = learnt(SkorchLearner(skorch_net(lr=0.01, criterion__reduction="sum")), X, y)
        found = state.net.module_
    module = net()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
    for batch in cut(np.arange(20)):
        optimizer.zero_grad()
        loss(module(torch.tensor(X[batch])), torch.tensor(y[batch])).backward()
        optimizer.step()
    np.testing.assert_allclose(weights_of(found), weights_of(module), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("optimizer", [MOMENTUM, ADAM], ids=["momentum", "Adam"])
@pytest.mark.parametrize("bare", [True, False], ids=["torch", "skorch"])
def test_what_an_optimizer_remembers_is_copied_and_apart(optimizer, bare):
    X, y = digits(40)
    if bare:
        learner = TorchLearner(net(), optimizer, batch_size=8)
    else:
        learner = SkorchLearner(
            skorch_net(optimizer=optimizer.func, **{f"optimizer__{k}": v for k, v in optimizer.keywords.items()})
        )

    def parts(state):
        module, its = (state.module, state.optimizer) if bare else (state.net.module_, state.net.optimizer_)
        remembered = [
            value.numpy().copy() for memory in its.state.values() for value in memory.values() if torch.is_tensor(value)
        ]
        return weights_of(module), np.concatenate([value.ravel() for value in remembered]), module, its

    state = learnt(learner, X[:20], y[:20], schema_of(X, y))
    twin = learner.copy(state)
    weights, memory, module, _ = parts(state)
    copied_weights, copied_memory, copied_module, copied = parts(twin)
    np.testing.assert_array_equal(weights, copied_weights)
    np.testing.assert_array_equal(memory, copied_memory)
    assert np.abs(memory).sum() > 0
    assert [*copied.param_groups[0]["params"]] == [*copied_module.parameters()]
    assert not {id(p) for p in copied_module.parameters()} & {id(p) for p in module.parameters()}
    learner.update(twin, Rows(X[20:], y[20:]))
    np.testing.assert_array_equal(parts(state)[0], weights)
    np.testing.assert_array_equal(parts(state)[1], memory)
    assert not np.array_equal(parts(twin)[0], weights)
    assert not np.array_equal(parts(twin)[1], memory)
    learner.update(state, Rows(X[20:], y[20:]))
    for mine, theirs in zip(parts(state)[:2], parts(twin)[:2], strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_the_users_module_stays_as_it_is():
    X, y = digits(40)
    module = net(dropout=0.3).eval()
    before = weights_of(module)
    estimator = TorchClassifier(module, SGD, batch_size=8)
    estimator.fit(X, y)
    learner = estimator.__treecv_learner__(schema_of(X, y))
    state = learnt(learner, X, y)
    np.testing.assert_array_equal(weights_of(module), before)
    assert not module.training
    assert all(parameter.grad is None for parameter in module.parameters())
    assert learner.module is not module
    np.testing.assert_array_equal(weights_of(learner.module), before)
    assert not np.array_equal(weights_of(state.module), before)


def test_the_users_net_stays_as_it_is():
    X, y = digits(40)
    given = skorch_net(callbacks=[("clip", callbacks.GradientNormClipping(1.0))])
    before, settings = weights_of(given.module), {name: id(value) for name, value in vars(given).items()}
    learner = SkorchLearner(given, batch_size=4)
    learnt(learner, X, y)
    np.testing.assert_array_equal(weights_of(given.module), before)
    assert {name: id(value) for name, value in vars(given).items()} == settings
    assert not given.initialized_
    assert (given.max_epochs, given.batch_size, given.verbose) == (10, 8, 1)
    np.testing.assert_array_equal(weights_of(learner.net.module), before)


@pytest.mark.parametrize("bare", [True, False], ids=["torch", "skorch"])
def test_random_numbers_belong_to_the_place(bare):
    X, y = digits(40)
    module = net(dropout=0.5)
    learner = TorchLearner(module, SGD, batch_size=8) if bare else SkorchLearner(skorch_net(module))
    assert learner.draws

    def weights(stream):
        state = learnt(learner, X, y, stream=stream)
        return weights_of(state.module if bare else state.net.module_)

    torch.manual_seed(1)
    before = torch.get_rng_state()
    one = weights(Stream(0).at(1))
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    np.testing.assert_array_equal(weights(Stream(0).at(1)), one)
    assert not np.array_equal(weights(Stream(0).at(2)), one)
    assert not np.array_equal(weights(None), weights(None))


def test_rows_are_shuffled_if_the_net_says_so():
    X, y = digits(40)
    schema = schema_of(X, y)
    in_order = SkorchLearner(skorch_net())
    expected = by_hand(net(), SGD, X, y, cut(np.arange(40)))
    np.testing.assert_allclose(weights_of(learnt(in_order, X, y).net.module_), weights_of(expected), atol=1e-6)
    shuffled = SkorchLearner(skorch_net(iterator_train__shuffle=True))
    found = [weights_of(learnt(shuffled, X, y, schema, stream=Stream(0).at(place)).net.module_) for place in (1, 1, 2)]
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])
    assert np.abs(found[0] - weights_of(expected)).max() > 1e-3


@pytest.mark.parametrize(
    ("settings", "batch_size", "size"),
    [
        ({}, None, 8),
        ({}, 5, 5),
        ({"iterator_train__batch_size": 6}, None, 6),
        ({"iterator_train__batch_size": 6}, 5, 5),
        ({"iterator_train__drop_last": True}, None, 8),
        ({"max_epochs": 3, "train_split": skorch.dataset.ValidSplit(2)}, None, 8),
    ],
)
def test_one_pass_in_the_nets_own_batches(settings, batch_size, size):
    X, y = digits(19)
    state = learnt(SkorchLearner(skorch_net(**settings), batch_size), X, y)
    expected = by_hand(net(), SGD, X, y, cut(np.arange(19), size), nominal=size)
    np.testing.assert_allclose(weights_of(state.net.module_), weights_of(expected), atol=1e-6)


def test_a_batch_of_all_rows():
    X, y = digits(20)
    learner = SkorchLearner(skorch_net(batch_size=-1))
    state = learnt(learner, X, y)
    learner.update(state, Rows(X[:5], y[:5]))
    expected = by_hand(net(), SGD, X, y, [np.arange(20), np.arange(5)], nominal=20)
    np.testing.assert_allclose(weights_of(state.net.module_), weights_of(expected), atol=1e-6)


class Counter(callbacks.Callback):
    def initialize(self):
        self.told = []
        return self

    def on_train_begin(self, net, **kwargs):
        self.told.append("train")

    def on_epoch_begin(self, net, **kwargs):
        self.told.append(net.history[-1]["epoch"])

    def on_batch_end(self, net, **kwargs):
        self.told.append("batch")

    def on_epoch_end(self, net, **kwargs):
        assert len(net.history[-1]["batches"]) == 3

    def on_train_end(self, net, **kwargs):
        self.told.append("end")


def test_callbacks_are_told_but_nothing_is_printed(capsys):
    X, y = digits(20)
    stop, clip = callbacks.EarlyStopping("train_loss", patience=1), callbacks.GradientNormClipping(1e-6)
    learner = SkorchLearner(skorch_net(callbacks=[Counter(), callbacks.ProgressBar(), stop, clip]))
    state = learner.init(schema_of(X, y))
    before = weights_of(state.net.module_)
    for _ in range(2):
        learner.update(state, Rows(X, y))
    told = dict(state.net.callbacks_)["Counter"].told
    assert told == ["train", 1, "batch", "batch", "batch", "end", "train", 2, "batch", "batch", "batch", "end"]
    assert capsys.readouterr() == ("", "")
    assert np.abs(weights_of(state.net.module_) - before).max() < 1e-5  # the gradients were clipped
    assert [len(epoch["batches"]) for epoch in state.net.history] == [0, 0]
    assert all("valid_loss" not in epoch for epoch in state.net.history)


def test_a_scheduler_goes_along_with_copies():
    X, y = digits(20)
    scheduler = callbacks.LRScheduler(torch.optim.lr_scheduler.StepLR, step_size=1, gamma=0.5, step_every="batch")
    learner = SkorchLearner(skorch_net(callbacks=[("steps", scheduler)]))
    state = learnt(learner, X, y)
    twin = learner.copy(state)
    for one in (state, twin):
        learner.update(one, Rows(X, y))
    np.testing.assert_array_equal(weights_of(state.net.module_), weights_of(twin.net.module_))
    plain = learnt(SkorchLearner(skorch_net()), X, y)
    assert not np.array_equal(weights_of(state.net.module_), weights_of(plain.net.module_))


def test_a_copy_of_a_net_takes_no_detour(monkeypatch):
    X, y = digits(20)
    learner = SkorchLearner(skorch_net())
    state = learnt(learner, X, y)
    learner.copy(state)
    monkeypatch.setattr(type(state.net), "__getstate__", None)  # deep copies and pickles need it
    np.testing.assert_array_equal(learner.predict(learner.copy(state), Rows(X)), learner.predict(state, Rows(X)))


def test_a_fitted_net_is_the_net():
    X, y = digits(80)
    learner = SkorchLearner(skorch_net(batch_size=2))
    state = learnt(learner, X, y)
    learner.update(state, Rows(X[:1], y[:1]))
    fitted = learner.fitted(state)
    assert is_skorch(fitted)
    assert is_classifier(fitted)
    assert fitted.classes_.tolist() == list(range(10))  # not those of the last update alone
    assert fitted.score(X, y) == (fitted.predict(X) == y).mean()
    np.testing.assert_array_equal(learner.respond(state, Rows(X), "predict_proba"), fitted.predict_proba(X))
    with pytest.raises(CapabilityError, match="NeuralNetClassifier, of skorch, has no decision_function"):
        learner.respond(state, Rows(X), "decision_function")


def test_a_regressor_of_skorch():
    X, y = diabetes(60)
    given = skorch.NeuralNetRegressor(net(10, 1), lr=0.05, batch_size=8, optimizer=torch.optim.SGD)
    learner = SkorchLearner(given)
    state = learnt(learner, X, y[:, np.newaxis], schema_of(X))
    loss = torch.nn.functional.mse_loss
    expected = by_hand(net(10, 1), partial(torch.optim.SGD, lr=0.05), X, y[:, np.newaxis], cut(np.arange(60)), loss)
    np.testing.assert_allclose(weights_of(state.net.module_), weights_of(expected), atol=1e-5)
    assert learner.predict(state, Rows(X)).shape == (60, 1)


def test_labels_skorch_cannot_learn():
    X, y = digits(40)
    learner = SkorchLearner(skorch_net())
    for labels in (y + 1, y.astype(str)):
        with pytest.raises(InputError, match=r"NeuralNetClassifier, of skorch, learns 0 to 9: encode y by sklearn"):
            learner.init(schema_of(X, labels))
    with pytest.raises(InputError, match="SkorchLearner: batch_size=0 must be a number of rows"):
        SkorchLearner(skorch_net(), 0)


def test_nets_of_skorch_are_recognised():
    class Own(skorch.NeuralNetClassifier):
        pass

    assert is_skorch(skorch_net())
    assert is_skorch(Own(net()))
    assert not any(is_skorch(other) for other in (net(), TorchClassifier(net(), SGD), skorch.NeuralNet, None))


@pytest.mark.parametrize("labels", [np.array(list("abcdefghij")), np.arange(10) - 4, np.arange(10) / 2 + 0.0], ids=str)
def test_labels_of_any_kind(labels):
    X, y = digits(600)
    y = labels[y]
    if y.dtype.kind == "f":
        y = np.round(y * 2)
    estimator = TorchClassifier(net(), SGD, batch_size=4).fit(X, y)
    assert estimator.classes_.tolist() == np.unique(y).tolist()
    predicted, shares = estimator.predict(X), estimator.predict_proba(X)
    assert predicted.dtype == y.dtype
    assert estimator.score(X, y) == (predicted == y).mean() > 0.6
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(estimator.classes_[shares.argmax(axis=1)], predicted)


@pytest.mark.parametrize(
    "table", [list, scipy.sparse.csr_array, np.float64, np.asfortranarray], ids=lambda table: table.__name__
)
def test_rows_in_any_table(table):
    X, y = digits(40)
    expected = by_hand(net(), SGD, X, y, cut(np.arange(40)))
    given = X.tolist() if table is list else table(X)
    estimator = TorchClassifier(net(), SGD, batch_size=8).fit(given, y.tolist())
    np.testing.assert_allclose(weights_of(estimator.module_), weights_of(expected), atol=1e-6)
    learner = TorchLearner(net(), SGD, batch_size=8)
    state = learnt(learner, given, y.tolist(), schema_of(X, y))
    np.testing.assert_array_equal(weights_of(state.module), weights_of(estimator.module_))
    np.testing.assert_array_equal(learner.predict(state, Rows(given)), estimator.predict(given))


def test_rows_that_may_not_be_written():
    X, y = digits(40)
    expected = learnt(TorchLearner(net(), SGD), X, y)
    X.setflags(write=False)  # as joblib maps them; torch would warn
    np.testing.assert_array_equal(
        weights_of(learnt(TorchLearner(net(), SGD), X, y).module), weights_of(expected.module)
    )


def test_named_columns():
    pandas = pytest.importorskip("pandas")
    X, y = diabetes(40)
    frame = pandas.DataFrame(X, columns=list("abcdefghij"))
    estimator = TorchRegressor(net(10, 1), SGD).fit(frame, y)
    assert estimator.feature_names_in_.tolist() == list("abcdefghij")
    learner = estimator.__treecv_learner__(schema_of(X))
    np.testing.assert_array_equal(
        weights_of(learnt(learner, frame, y, schema_of(X)).module), weights_of(estimator.module_)
    )
    frame["a"] = "text"
    with pytest.raises(InputError, match=r"TorchRegressor: X must be numbers: could not convert string to float"):
        learnt(learner, frame, y, schema_of(X))


def test_images_keep_their_shape():
    X, y = digits(40)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 10)
    )
    images = X.reshape(-1, 1, 8, 8)
    estimator = TorchClassifier(module, SGD).fit(images, y)
    assert estimator.predict(images).shape == (40,)
    learner = estimator.__treecv_learner__(schema_of(images, y))
    np.testing.assert_array_equal(learner.predict(learnt(learner, images, y), Rows(images)), estimator.predict(images))


def test_regressors():
    X, y = diabetes(200)
    for given, outputs in ((y, 1), (y[:, np.newaxis], 1), (np.column_stack([y, -y]), 2)):
        estimator = TorchRegressor(net(10, outputs), partial(torch.optim.SGD, lr=0.05), batch_size=4).fit(X, given)
        assert is_regressor(estimator)
        assert estimator.predict(X).shape == ((200,) if outputs == 1 else (200, 2))
        assert estimator.score(X, given) > 0.2
    loss = torch.nn.L1Loss()
    estimator = TorchRegressor(net(10, 1), SGD, loss=loss, batch_size=8).fit(X, y)
    expected = by_hand(net(10, 1), SGD, X, y[:, np.newaxis], cut(np.arange(200)), loss)
    np.testing.assert_allclose(weights_of(estimator.module_), weights_of(expected), atol=1e-4)
    with pytest.raises(
        InputError, match=r"outputs have the shape \(32, 2\), the targets \(32,\). Give the module as many"
    ):
        TorchRegressor(net(10, 2), SGD).fit(X, y)
    with pytest.raises(CapabilityError, match=r"TorchRegressor has no predict_proba: ask for predict\."):
        estimator.learner_.respond(estimator.state_, Rows(X), "predict_proba")


def test_optimizers_that_evaluate_the_loss_again():
    X, y = diabetes(60)
    estimator = TorchRegressor(torch.nn.Linear(10, 1), partial(torch.optim.LBFGS, lr=0.5), batch_size=60).fit(X, y)
    assert estimator.score(X, y) > 0.4


@pytest.mark.parametrize("classifier", [True, False])
def test_in_parts(classifier):
    X, y = digits(48) if classifier else diabetes(48)
    make, outputs, first = (TorchClassifier, 10, {"classes": range(10)}) if classifier else (TorchRegressor, 1, {})
    estimator = make(net(X.shape[1], outputs), MOMENTUM, batch_size=8)
    whole = clone(estimator).fit(X, y)
    estimator.partial_fit(X[:16], y[:16], **first).partial_fit(X[16:], y[16:])
    np.testing.assert_array_equal(weights_of(estimator.module_), weights_of(whole.module_))
    assert not np.array_equal(weights_of(estimator.fit(X[:16], y[:16]).module_), weights_of(whole.module_))


def test_parts_that_do_not_fit():
    X, y = digits(40)
    with pytest.raises(InputError, match="classes=None; the first call needs the list of all labels"):
        TorchClassifier(net(), SGD).partial_fit(X, y)
    estimator = TorchClassifier(net(), SGD).partial_fit(X, y, classes=range(10))
    estimator.partial_fit(X, y, classes=range(10))
    with pytest.raises(InputError, match=r"classes=\[0, 1\] differ from those of the first call, \[0, 1, 2"):
        estimator.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(InputError, match=r"y holds np.int64\(30\), which is not among classes=\[0, 1, 2, 3, 4\]"):
        estimator.partial_fit(X, y + 30)
    with pytest.raises(InputError, match=r"TorchClassifier: y has the shape \(40, 1\): one label a row"):
        estimator.learner_.update(estimator.state_, Rows(X, y[:, np.newaxis]))
    learner = TorchLearner(net(64, 1), SGD)
    with pytest.raises(InputError, match="TorchLearner: y=None, but a net learns from targets"):
        learner.update(learner.init(schema_of(X)), Rows(X))


def test_settings_that_cannot_be_used():
    X, y = digits(40)
    for wrong, message in (
        ({"module": torch.nn.Linear}, r"module=<class .*Linear'> is not a torch.nn.Module: make an instance of it"),
        ({"module": "net"}, r"module='net' is not a torch.nn.Module: for example"),
        ({"optimizer": torch.optim.SGD(net().parameters(), lr=1.0)}, r"optimizer=SGD is not callable: give what makes"),
        ({"loss": torch.nn.NLLLoss}, r"loss=<class .*NLLLoss'> must be a function"),
        ({"loss": "log"}, r"loss='log' must be a function"),
        ({"batch_size": 0}, r"batch_size=0 must be a number of rows"),
        ({"batch_size": 2.5}, r"batch_size=2.5 must be a number of rows"),
    ):
        settings = {"module": net(), "optimizer": SGD} | wrong
        with pytest.raises(InputError, match=f"TorchClassifier: {message}"):
            TorchClassifier(**settings).fit(X, y)


def test_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(CapabilityError, match=r"TorchClassifier needs torch, .* pip install 'treecv\[torch\]'"):
        TorchClassifier(None, SGD).fit(*digits(40))


def test_data_that_cannot_be_used():
    X, y = digits(40)
    learner = TorchLearner(net(), SGD)
    for value in (np.nan, np.inf, 1e300):
        spoilt = X.astype(float)
        spoilt[7, 3] = value
        with pytest.raises(InputError, match=r"X contains NaN, infinity or .* float32, first in row 7 of 40"):
            learnt(learner, spoilt, y)
    with pytest.raises(ValueError, match="contains NaN"):
        TorchClassifier(net(), SGD).fit(np.where(X > 0.9, np.nan, X), y)
    with pytest.raises(
        InputError, match=r"outputs have the shape \(32, 10\), but y holds 2 classes: .* one output a class, 2"
    ):
        TorchClassifier(net(), SGD).fit(X, y > 4)
    with pytest.raises(InputError, match=r"y contains NaN"):
        learnt(TorchLearner(net(64, 1), SGD), X, np.full(40, np.nan), schema_of(X))


def test_outputs_that_are_not_finite():
    X, y = digits(40)
    estimator = TorchClassifier(net(), partial(torch.optim.SGD, lr=1e30), batch_size=4).fit(X, y)
    with pytest.raises(UpdateError, match=r"the module's outputs are not finite. Take a smaller step"):
        estimator.predict(X)


def test_a_batch_norm_and_a_single_row():
    X, y = digits(33)
    module = torch.nn.Sequential(torch.nn.Linear(64, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 10))
    TorchClassifier(module, SGD).fit(X[:32], y[:32])
    with pytest.raises(InputError, match=r"a batch norm cannot learn a batch of 1 row, .* LayerNorm or GroupNorm"):
        TorchClassifier(module, SGD).fit(X, y)
    with pytest.raises(ValueError, match="its own"):
        TorchClassifier(net(), SGD, loss=lambda outputs, y: (_ for _ in ()).throw(ValueError("its own"))).fit(X, y)


def test_scikit_learns_shape():
    X, y = digits(80)
    estimator = TorchClassifier(net(), SGD, batch_size=4)
    assert is_classifier(estimator)
    twin = clone(estimator)
    assert twin.get_params().keys() == {"module", "optimizer", "loss", "batch_size", "device"}
    assert twin.module is not estimator.module
    np.testing.assert_array_equal(weights_of(twin.module), weights_of(estimator.module))
    assert cross_val_predict(estimator, X, y, cv=3).shape == (80,)
    restored = pickle.loads(pickle.dumps(estimator.fit(X, y)))  # noqa: S301 - made just here
    assert restored.score(X, y) == estimator.score(X, y)
    schema = schema_of(X, y)
    learner = estimator.__treecv_learner__(schema)
    state = learnt(learner, X, y)
    fitted = estimator.__treecv_fitted__(state, schema)
    assert fitted is not estimator
    assert fitted.n_features_in_ == 64
    np.testing.assert_array_equal(fitted.predict_proba(X), estimator.predict_proba(X))
    np.testing.assert_array_equal(learner.respond(state, Rows(X), "predict"), fitted.predict(X))
    with pytest.raises(
        CapabilityError, match="TorchClassifier has no decision_function: ask for predict and predict_proba"
    ):
        learner.respond(state, Rows(X), "decision_function")


def test_before_learning_anything():
    X, y = digits(20)
    for learner in (TorchLearner(net(), SGD), SkorchLearner(skorch_net())):
        state = learner.init(schema_of(X, y))
        assert set(learner.predict(state, Rows(X)).tolist()) <= set(range(10))
        assert learner.respond(state, Rows(X), "predict_proba").shape == (20, 10)
