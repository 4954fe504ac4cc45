"""A pytest plugin: scikit-learn's own tests of its cross-validation, run against ours.

It puts treecv's functions where scikit-learn keeps its own, before the tests import them. What ours hand on to
scikit-learn stays scikit-learn's: they bound it when they were imported.
"""

import sklearn.model_selection as theirs
import sklearn.model_selection._validation as inside

import treecv

NAMES = (
    "cross_val_predict",
    "cross_val_score",
    "cross_validate",
    "learning_curve",
    "permutation_test_score",
    "validation_curve",
)
calls = dict.fromkeys(NAMES, 0)


def counted(name):
    """Ours, counting how often it was called."""
    ours = getattr(treecv, name)

    def call(*arguments, **options):
        calls[name] += 1
        return ours(*arguments, **options)

    call.__name__, call.__doc__, call.__wrapped__ = name, ours.__doc__, ours
    return call


def pytest_configure(config):
    for name in NAMES:
        ours = counted(name)
        setattr(theirs, name, ours)
        setattr(inside, name, ours)


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"calls of treecv: {calls}")
