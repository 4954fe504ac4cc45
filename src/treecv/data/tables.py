"""Parts of whatever holds rows: arrays, sparse matrices, data frames, lists.

Frameworks are recognised by what their tables can do and are not imported.
"""

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray


def take(table: Any, part: "slice | NDArray[np.int64]") -> Any:
    """The rows of a table named by a slice (a view where it can be one) or by numbers, in their order."""
    if isinstance(table, np.ndarray) or scipy.sparse.issparse(table):
        return table[part]
    if hasattr(table, "iloc"):
        return table.iloc[part]
    if isinstance(table, list | tuple):
        return table[part] if isinstance(part, slice) else [table[row] for row in part]
    return table[part]


def joined(tables: "list[Any]") -> Any:
    """Tables of one kind, one below the other."""
    first = tables[0]
    if len(tables) == 1 or first is None:
        return first
    if scipy.sparse.issparse(first):
        return scipy.sparse.vstack(tables, format="csr")
    if isinstance(first, list | tuple):
        return [row for table in tables for row in table]
    if hasattr(first, "iloc"):
        import pandas  # noqa: PLC0415 - the user's table is one of its own

        return pandas.concat(tables)
    if type(first).__module__.startswith("polars"):
        import polars  # noqa: PLC0415 - the user's table is one of its own

        return polars.concat(tables)
    return np.concatenate(tables)
