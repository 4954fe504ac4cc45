"""What can go wrong, as a tree.

* TreecvError
    * InputError (ValueError): data or an argument that cannot be used
    * CapabilityError (TypeError): an object lacks a method that was needed
    * UpdateError (ValueError): a learner failed while it learnt or predicted

scikit-learn raises ValueError where training fails, and so does this library. Every message names the
object, the value received, what was expected and the cure.
"""


class TreecvError(Exception):
    """The root of this library's own exceptions."""


class InputError(TreecvError, ValueError):
    """Data or an argument that cannot be used."""


class CapabilityError(TreecvError, TypeError):
    """An object lacks a method that was needed."""


class UpdateError(TreecvError, ValueError):
    """A learner failed while it learnt or predicted."""
