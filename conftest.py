"""Examples that need an extra are left out where it is not installed; `make torch` installs torch and runs them."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["src/treecv/estimators/torch.py"]
