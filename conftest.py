"""Examples that need an extra are left out where it is not installed; `make torch` installs torch and runs them.

Hypothesis draws the same cases every time, so that a tree that was green stays green; HYPOTHESIS_PROFILE=random draws
others, and is worth a run now and then.
"""

import os
from importlib.util import find_spec

from hypothesis import settings

collect_ignore = [] if find_spec("torch") else ["src/treecv/estimators/torch.py"]

settings.register_profile("fixed", derandomize=True)
settings.register_profile("random", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
