"""The result of a cross-validation: scikit-learn's dictionary, which also says how it came about."""

from typing import Any

from treecv.records import ELSEWHERE, Check, Record


class Result(dict[str, Any]):
    """scikit-learn's keys, and the record of the work behind them.

    Attributes
    ----------
    record : Record
        Strategy, order, seed, folds, exactness, counted work and seconds.
    check : Check or None
        What `check_folds` found.
    hint : str
        How the same could be had for less, where that is so.
    """

    def __init__(self, scores: dict[str, Any], record: Record, check: Check | None = None, hint: str = "") -> None:
        super().__init__(scores)
        self.record = record
        self.check = check
        self.hint = hint

    @property
    def strategy(self) -> str:
        """How the scores came about."""
        return self.record.strategy

    @property
    def exact(self) -> bool:
        """Whether they are those of training each fold from scratch."""
        return self.record.exact

    @property
    def what(self) -> str:
        """One sentence on what was estimated."""
        record = self.record
        folds = f"{record.k} folds of {record.n_rows} rows"
        if record.strategy == ELSEWHERE:
            return f"The score of `fit`; {folds}, each fold's model trained from scratch by scikit-learn."
        if record.strategy in _EXACTLY:
            return f"The score of `fit`; {folds}, {_EXACTLY[record.strategy]}. {record.remark}".strip()
        how, learnt = _HOW[record.strategy], dict(_LEARNT[record.strategy])
        order = learnt.get(record.order, "in an order drawn anew for each update")
        remark = f" {record.remark}" if record.remark else ""
        return f"The score of one pass over the training rows, {order}; {folds}, {how}.{remark}"


_EXACTLY = {
    "merge": "the statistics of each taken from those of the whole",
    "closed_form": "what each fold's model predicts computed from one training on all rows",
}
_HOW = {
    "standard": "each fold's model trained from scratch",
    "tree": "models that share training rows share their training",
    "chain": "one model that is scored as it goes along",
}
_LEARNT = {
    "standard": {"fixed": "in stored order", "blocks": "fold after fold, each permuted"},
    "tree": {"fixed": "fold after fold, as the tree hands them down", "blocks": "likewise, each fold permuted"},
    "chain": {"fixed": "in the order of the folds", "blocks": "in the order of the folds, each addition permuted"},
}
