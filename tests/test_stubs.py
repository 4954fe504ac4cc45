"""The stub of the extension is what nanobind writes for the module that was built."""

import subprocess
import sys
from pathlib import Path

import pytest

import treecv
from cases import PYTHON, SANITIZED
from treecv import kernels


@pytest.mark.skipif(PYTHON, reason="TREECV_IMPLEMENTATION=python keeps the extension out")
@pytest.mark.skipif(SANITIZED, reason="the sanitizers are preloaded into the stub generator too")
@pytest.mark.parametrize("level", [] if PYTHON else kernels.levels())
def test_the_stub_is_up_to_date(level, tmp_path):
    written = tmp_path / "written.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", f"treecv._core_{level}", "-o", written]
    subprocess.run(command, check=True)
    shared = written.read_text().replace(f"_core_{level}", "_core_v1")  # it stands in the types of arguments
    home = Path(treecv.__file__).parent
    assert (home / "_core_v1.pyi").read_text() == shared, "write it anew with: make stubs"
    if level != "v1":
        assert "from treecv._core_v1 import *" in (home / f"_core_{level}.pyi").read_text()
