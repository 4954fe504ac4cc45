"""Who follows a how-to to the letter ends with something that works."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import treecv
from treecv.learners.elementary import exp

HOME = Path(__file__).parents[1]
PAGE = (HOME / "docs" / "how-to" / "new-loss.md").read_text()
COMPILER = shutil.which("c++")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)


@pytest.fixture
def changed(tmp_path):
    """A copy of what the page changes, changed as it says."""
    for folder in ("core/include", "src/treecv"):
        shutil.copytree(HOME / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    (tmp_path / "tests").mkdir()
    shutil.copy(HOME / "tests" / "cases.py", tmp_path / "tests")
    for block in blocks("diff"):
        head, *lines = block.splitlines(keepends=True)
        path = tmp_path / head.removeprefix("+++ ").strip()
        before, after = ("".join(line[1:] for line in lines if line[0] != sign) for sign in "+-")
        text = path.read_text()
        assert text.count(before) == 1, before
        path.write_text(text.replace(before, after))
    named = re.search(r"^`(core/include/treecv/losses/\w+\.hpp)`:$", PAGE, re.M)[1]
    (tmp_path / named).write_text(blocks("cpp")[0])
    return tmp_path


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


PROGRAM = """
#include <cstdio>
#include <string>
#include "treecv/losses.hpp"
int main(int, char** words) {
    using V = treecv::Side<double, 2>::Numbers;
    const treecv::Loss loss = treecv::loss_named("poisson", 0.1);
    V y{}, p{};
    for (int i = 0; i < 2; ++i) y[i] = std::stod(words[1 + i]), p[i] = std::stod(words[3 + i]);
    const V slope = treecv::with(loss, [&](const auto& one) { return one.gradient(y, p); });
    std::printf("%a %a", slope[0], slope[1]);
}
"""


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
def test_the_header_of_a_new_loss_is_its_mirror_bit_by_bit(changed):
    source, program = changed / "loss.cpp", changed / "loss"
    source.write_text(PROGRAM)
    flags = ("-std=c++20", "-O1", "-ffp-contract=off", "-Wno-psabi", "-DTREECV_REGISTER_BYTES=16", "-Icore/include")
    run(COMPILER, *flags, str(source), "-o", str(program), cwd=changed)
    said = run(str(program), "3", "0", "0.7", "-5.25")
    expected = exp(np.array([0.7, -5.25])) - np.array([3.0, 0.0])
    assert [float.fromhex(word) for word in said.split()] == expected.tolist()


def reference(changed, program):
    environment = {"TREECV_IMPLEMENTATION": "python", "PYTHONPATH": f"{changed / 'src'}:{changed / 'tests'}"}
    # Without site, whose finder for an editable install would come before PYTHONPATH.
    packages = [path for path in sys.path if path.endswith("site-packages")]
    environment["PYTHONPATH"] += "".join(f":{path}" for path in packages)
    return run(sys.executable, "-S", "-c", program, env=environment)


@pytest.mark.slow
def test_a_new_loss_can_be_used_as_shown(changed):
    assert "poisson" not in (Path(treecv.__file__).parent / "learners" / "losses.py").read_text()
    assert float(reference(changed, blocks("py")[0])) > 0.9


def test_the_settings_to_be_tested_are_accepted(changed):
    shown = "from cases import SETTINGS, LEARNERS; print(*(one.loss for one in LEARNERS if hasattr(one, 'loss')))"
    assert "poisson" in reference(changed, shown).split()
