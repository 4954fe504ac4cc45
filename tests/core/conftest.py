"""Under `make sanitize` (TREECV_SANITIZED names the folder) it must be the sanitized core that is tested."""

import os
from pathlib import Path

import pytest

from treecv import kernels

collect_ignore_glob = ["test_*.py"] if kernels.core is None else []  # TREECV_IMPLEMENTATION=python: nothing to test

if folder := os.environ.get("TREECV_SANITIZED"):
    module = Path(kernels.core.__file__).resolve()
    if not module.is_relative_to(Path(folder).resolve()):
        raise pytest.UsageError(f"the core was loaded from {module}, not from TREECV_SANITIZED={folder}")
    if b"__asan_" not in module.read_bytes():
        raise pytest.UsageError(f"{module} was built without sanitizers")
