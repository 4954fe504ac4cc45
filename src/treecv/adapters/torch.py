"""Nets of torch, bare or in skorch: one pass over the rows, in batches.

The step is kept constant per row: a batch shorter than the nominal one takes as much shorter a step. The tree ends
in updates of a single row, and a full step on one row wrecks a model. Both learners go through `per_row` for it.

torch is imported where it is used: whoever has a net has imported it.
"""

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from treecv.adapters.copying import duplicate
from treecv.data import Rows
from treecv.errors import CapabilityError, InputError, UpdateError
from treecv.learner import Schema, State
from treecv.order import Stream

_BLOCK = 1024
"""Rows predicted at once."""

_IDLE = ("Checkpoint", "EarlyStopping", "EpochScoring", "EpochTimer", "PrintLog", "ProgressBar", "TrainEndCheckpoint")
"""Callbacks of skorch that watch, print or store: one pass without held-out rows has nothing for them."""


def is_skorch(net: Any) -> bool:
    """Whether a net is one of skorch's."""
    return any(cls.__module__.partition(".")[0] == "skorch" for cls in type(net).__mro__)


@contextmanager
def per_row(optimizers: Iterable[Any], rows: int, nominal: int) -> Iterator[None]:
    """Let optimisers take a step as long as `rows` of a batch of `nominal` rows are worth."""
    if rows >= nominal:
        yield
        return
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    if any("lr" not in group for group in groups):
        raise CapabilityError(
            f"a batch has {rows} of {nominal} rows and needs a shorter step, but the optimizer has no 'lr' to scale. "
            "Use an optimizer of torch.optim, or batch_size=1."
        )
    steps = [group["lr"] for group in groups]
    for group, step in zip(groups, steps, strict=True):
        group["lr"] = step * (rows / nominal)
    try:
        yield
    finally:
        for group, step in zip(groups, steps, strict=True):
            group["lr"] = step


@contextmanager
def drawing_from(stream: Stream | None) -> Iterator[None]:
    """Let torch draw the random numbers of a place, and leave its own generators as they were."""
    if stream is None:
        yield
        return
    torch = torch_for("a net")
    seed = int(stream.numbers(1)[0]) % 2**63
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    with torch.random.fork_rng(devices=devices):
        torch.default_generator.manual_seed(seed)  # torch.manual_seed takes 100 microseconds
        if devices:
            torch.cuda.manual_seed_all(seed)  # pragma: no cover - needs a GPU
        yield


class Net(NamedTuple):
    """A state: a module, the optimiser of its parameters, and the labels of a classifier."""

    module: Any
    optimizer: Any
    classes: Any


class TorchLearner:
    """The learner of a module and an optimiser.

    Parameters
    ----------
    module : torch.nn.Module
        Where training starts; it is copied and never changed.
    optimizer : callable
        From parameters to a `torch.optim.Optimizer`.
    loss : callable, optional
        From outputs and targets to a mean over the rows. None: cross entropy of logits for a classifier, else the
        mean squared error.
    batch_size : int, default=32
        The rows of a step.
    device : str, default="cpu"
        Where the module is.
    name : str
        Whose learner it is, for messages.
    """

    as_given = True
    draws = True

    def __init__(
        self,
        module: Any,
        optimizer: Any,
        loss: Any = None,
        batch_size: int = 32,
        device: str = "cpu",
        name: str = "TorchLearner",
    ) -> None:
        _check_settings(name, module, optimizer, loss, batch_size)
        self.module = copy.deepcopy(module)
        self.optimizer = optimizer
        self.loss = copy.deepcopy(loss).to(device) if hasattr(loss, "to") else loss
        self.batch_size = batch_size
        self.device = device
        self.name = name

    def init(self, schema: Schema) -> State:
        """The module as it was given, and a new optimiser."""
        module = copy.deepcopy(self.module).to(self.device)
        classes = None if schema.classes is None else np.asarray(schema.classes)
        return Net(module, self.optimizer(module.parameters()), classes)

    def copy(self, state: State) -> State:
        """An independent state, with what the optimiser remembers: its momentum belongs to the model."""
        module, optimizer = duplicate(self, state[:2])
        return Net(module, optimizer, state.classes)

    def update(self, state: State, rows: Rows) -> None:
        """Let the module learn `rows`, in their order."""
        rows = rows.gathered()
        X, y = self._tensor(rows.X), self._targets(state, rows.y)
        loss = self.loss or _usual_loss(state.classes)
        state.module.train()
        with drawing_from(rows.stream):
            for begin in range(0, len(X), self.batch_size):
                part = slice(begin, begin + self.batch_size)
                self._step(state, X[part], y[part], loss)

    def predict(self, state: State, rows: Rows) -> NDArray[Any]:
        """The label, or the number, of each row."""
        outputs = self._outputs(state, rows)
        if state.classes is None:
            return outputs
        labels: NDArray[Any] = state.classes[outputs.argmax(axis=1)]
        return labels

    def respond(self, state: State, rows: Rows, method: str) -> NDArray[Any]:
        """What this method says of each row."""
        if method == "predict":
            return self.predict(state, rows)
        if method != "predict_proba" or state.classes is None:
            known = "predict" if state.classes is None else "predict and predict_proba"
            raise CapabilityError(f"{self.name} has no {method}: ask for {known}.")
        outputs = self._outputs(state, rows).astype(np.float64)
        odds = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        shares: NDArray[np.float64] = odds / odds.sum(axis=1, keepdims=True)
        return shares

    def _step(self, state: Net, X: Any, y: Any, loss: Any) -> None:
        def evaluate() -> Any:
            state.optimizer.zero_grad()
            value = loss(self._shaped(state, state.module(X), y), y)
            value.backward()
            return value

        summed = getattr(loss, "reduction", "mean") == "sum"  # its gradient grows with the rows by itself
        with per_row([state.optimizer], self.batch_size if summed else len(X), self.batch_size):
            try:
                state.optimizer.step(evaluate)
            except ValueError as error:
                if "more than 1 value per channel" not in str(error):
                    raise
                raise InputError(
                    f"{self.name}: a batch norm cannot learn a batch of {len(X)} row, and the tree ends in updates of "
                    "single rows. Use LayerNorm or GroupNorm in the module, or fewer, larger folds."
                ) from error

    def _outputs(self, state: Net, rows: Rows) -> NDArray[Any]:
        torch = torch_for(self.name)
        X = self._tensor(rows.gathered().X)
        state.module.eval()
        with torch.inference_mode():
            parts = [self._shaped(state, state.module(part)).cpu().numpy() for part in X.split(_BLOCK)]
        outputs = np.concatenate(parts)
        if state.classes is not None and not np.isfinite(outputs).all():
            raise UpdateError(f"{self.name}: the module's outputs are not finite. Take a smaller step (lr).")
        return outputs

    def _shaped(self, state: Net, outputs: Any, y: Any = None) -> Any:
        """Outputs in the shape of the targets; raise if they do not fit."""
        if state.classes is None:
            outputs = outputs.squeeze(1) if outputs.ndim == 2 and outputs.shape[1] == 1 else outputs
            if y is not None and outputs.shape != y.shape:
                raise InputError(
                    f"{self.name}: the module's outputs have the shape {tuple(outputs.shape)}, the targets "
                    f"{tuple(y.shape)}. Give the module as many outputs as y has columns."
                )
        elif outputs.ndim != 2 or outputs.shape[1] != len(state.classes):
            raise InputError(
                f"{self.name}: the module's outputs have the shape {tuple(outputs.shape)}, but y holds "
                f"{len(state.classes)} classes: its last layer needs one output a class, {len(state.classes)}."
            )
        return outputs

    def _tensor(self, X: Any) -> Any:
        return torch_for(self.name).from_numpy(_single(X, "X", self.name)).to(self.device)

    def _targets(self, state: Net, y: Any) -> Any:
        torch = torch_for(self.name)
        if state.classes is None:
            numbers = _single(y, "y", self.name)
            flat = numbers[:, 0] if numbers.ndim == 2 and numbers.shape[1] == 1 else numbers
            return torch.from_numpy(np.ascontiguousarray(flat)).to(self.device)
        labels = np.asarray(y)
        if labels.ndim != 1:
            raise InputError(f"{self.name}: y has the shape {labels.shape}: one label a row, shape (n,), is expected.")
        codes = np.searchsorted(state.classes, labels).clip(max=len(state.classes) - 1)
        strange = state.classes[codes] != labels
        if strange.any():
            raise InputError(
                f"{self.name}: y holds {labels[strange][0]!r}, which is not among classes={state.classes.tolist()[:5]}."
            )
        return torch.from_numpy(codes.astype(np.int64)).to(self.device)


class Training(NamedTuple):
    """A state: a net of skorch, and the rows of one of its batches."""

    net: Any
    nominal: int


class SkorchLearner:
    """The learner of a net of skorch.

    An update is what `partial_fit` is with max_epochs=1 and train_split=None: one pass, and nothing held out inside.
    The batches are the net's own, in the order of the rows unless iterator_train__shuffle is set; a short last one
    is learnt even if the net says drop_last. Callbacks are told as usual, but those that print, store or watch.

    Parameters
    ----------
    net : skorch.NeuralNet
        Its settings; it is cloned and never changed.
    batch_size : int, optional
        The rows of a step. None: the net's own; its -1, all rows at once, means all rows of the data.
    """

    as_given = True
    draws = True

    def __init__(self, net: Any, batch_size: int | None = None) -> None:
        if batch_size is not None:
            _check_batch_size("SkorchLearner", batch_size)
        self.net = clone(net)
        own = self.net.get_params()
        settings: dict[str, Any] = {}
        if own.get("iterator_train__drop_last"):
            settings["iterator_train__drop_last"] = False
        if batch_size is not None:
            settings["iterator_train__batch_size" if "iterator_train__batch_size" in own else "batch_size"] = batch_size
        self.net.set_params(**settings)

    def init(self, schema: Schema) -> State:
        """A net with new weights."""
        net = clone(self.net)
        if schema.classes is not None and is_classifier(net):
            _check_codes(net, np.asarray(schema.classes))
            if getattr(net, "classes", ()) is None:  # else it would take those of its last update for all
                net.set_params(classes=schema.classes)
        net.initialize()
        net.callbacks_ = [(name, callback) for name, callback in net.callbacks_ if not _is_idle(callback)]
        size = net.get_params_for("iterator_train").get("batch_size", net.batch_size)
        return Training(net, schema.n_rows if size == -1 else size)

    def copy(self, state: State) -> State:
        """An independent net, with what its optimiser remembers."""
        return Training(duplicate(self, state.net, by_contents), state.nominal)

    def update(self, state: State, rows: Rows) -> None:
        """Let the net learn `rows`, in their order."""
        rows, net = rows.gathered(), state.net
        net.check_data(rows.X, rows.y)
        dataset = net.get_dataset(rows.X, rows.y)
        with drawing_from(rows.stream):
            net.notify("on_train_begin", X=rows.X, y=rows.y)
            net.notify("on_epoch_begin", dataset_train=dataset, dataset_valid=None)
            batches = net.get_iterator(dataset, training=True)
            net.run_single_epoch(batches, training=True, prefix="train", step_fn=_Step(state))
            net.notify("on_epoch_end", dataset_train=dataset, dataset_valid=None)
            net.notify("on_train_end", X=rows.X, y=rows.y)
        net.history[-1]["batches"].clear()  # or each copy would carry all batches ever seen

    def predict(self, state: State, rows: Rows) -> Any:
        """What the net predicts for each row."""
        return self.respond(state, rows, "predict")

    def respond(self, state: State, rows: Rows, method: str) -> Any:
        """What this method says of each row."""
        if not hasattr(state.net, method):
            raise CapabilityError(f"{type(state.net).__name__}, of skorch, has no {method}: ask for another response.")
        return getattr(state.net, method)(rows.gathered().X)

    def fitted(self, state: State) -> Any:
        """The net itself."""
        return state.net


class _Step:
    """A training step of a net of skorch that is constant per row."""

    def __init__(self, state: Training) -> None:
        self.net, self.nominal = state
        self.optimizers = [getattr(self.net, f"{name}_") for name in self.net._optimizers]
        criteria = [getattr(self.net, f"{name}_") for name in self.net._criteria]
        self.summed = any(getattr(criterion, "reduction", "mean") == "sum" for criterion in criteria)

    def __call__(self, batch: Any, **params: Any) -> Any:
        rows = import_module("skorch.dataset").get_len(batch[0] if isinstance(batch, tuple | list) else batch)
        with per_row(self.optimizers, self.nominal if self.summed else rows, self.nominal):
            return self.net.train_step(batch, **params)


def by_contents(net: Any) -> Any:
    """A copy of a net without the detour over a file in memory that its own deep copies and pickles take."""
    twin = object.__new__(type(net))
    vars(twin).update(copy.deepcopy(vars(net)))
    return twin


def torch_for(name: str) -> Any:
    """The module torch; raise with the cure if it is missing."""
    try:
        return import_module("torch")
    except ImportError as error:
        raise CapabilityError(f"{name} needs torch, which is not installed: pip install 'treecv[torch]'.") from error


def _usual_loss(classes: Any) -> Any:
    functional = torch_for("a net").nn.functional
    return functional.mse_loss if classes is None else functional.cross_entropy


def _is_idle(callback: Any) -> bool:
    return any(cls.__name__ in _IDLE and cls.__module__.startswith("skorch.") for cls in type(callback).__mro__)


def _single(table: Any, what: str, name: str) -> NDArray[np.float32]:
    """Numbers as an array that torch can read."""
    if table is None:
        raise InputError(f"{name}: {what}=None, but a net learns from targets.")
    if scipy.sparse.issparse(table):
        table = table.toarray()
    try:
        with np.errstate(over="ignore"):
            values = np.require(table, np.float32, ["C", "W"])
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: {what} must be numbers: {error}. Encode its columns first.") from error
    if not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0][0])
        raise InputError(
            f"{name}: {what} contains NaN, infinity or a number too large for float32, first in row {row} of "
            f"{len(values)}. Drop such rows, or fill them in."
        )
    return values


def _check_settings(name: str, module: Any, optimizer: Any, loss: Any, batch_size: Any) -> None:
    nn = torch_for(name).nn
    if not isinstance(module, nn.Module):
        cure = "make an instance of it" if isinstance(module, type) else "for example torch.nn.Linear(10, 2)"
        raise InputError(f"{name}: module={module!r} is not a torch.nn.Module: {cure}.")
    if not callable(optimizer):
        raise InputError(
            f"{name}: optimizer={type(optimizer).__name__} is not callable: give what makes one from parameters, as "
            "functools.partial(torch.optim.SGD, lr=0.1)."
        )
    if isinstance(loss, type) or not (loss is None or callable(loss)):
        raise InputError(f"{name}: loss={loss!r} must be a function of outputs and targets, as torch.nn.MSELoss().")
    _check_batch_size(name, batch_size)


def _check_batch_size(name: str, batch_size: Any) -> None:
    if isinstance(batch_size, bool) or not isinstance(batch_size, int | np.integer) or batch_size < 1:
        raise InputError(f"{name}: batch_size={batch_size!r} must be a number of rows, 1 or more.")


def _check_codes(net: Any, classes: NDArray[Any]) -> None:
    if classes.dtype.kind not in "biuf" or not np.array_equal(classes, np.arange(len(classes))):
        raise InputError(
            f"y holds the labels {classes.tolist()[:5]}, but {type(net).__name__}, of skorch, learns 0 to "
            f"{len(classes) - 1}: encode y by sklearn.preprocessing.LabelEncoder."
        )
