"""The result of a cross-validation: scikit-learn's dictionary, which also says how it came about."""

from typing import Any

from treecv.records import Record


class Result(dict[str, Any]):
    """scikit-learn's keys, and the record of the work behind them.

    Attributes
    ----------
    record : Record
        Strategy, order, seed, folds, exactness, counted work and seconds.
    """

    def __init__(self, scores: dict[str, Any], record: Record) -> None:
        super().__init__(scores)
        self.record = record

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
        if record.strategy == "standard":
            how = "each fold's model trained from scratch"
            learnt = {"fixed": "in stored order", "blocks": "fold after fold, each permuted"}
        else:
            how = "models that share training rows share their training"
            learnt = {"fixed": "fold after fold, as the tree hands them down", "blocks": "likewise, each fold permuted"}
        order = learnt.get(record.order, "in an order drawn anew for each update")
        return (
            f"The score of one pass over the training rows, {order}; {record.k} folds of {record.n_rows} rows, {how}."
        )
