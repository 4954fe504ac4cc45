"""Cuts the bundled sample out of the full Covertype data set: rows at random, kept in stored order."""

import argparse
from pathlib import Path

import numpy as np

ROWS, SEED = 20_000, 20150725


def main() -> None:
    """Write the sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("covtype", type=Path, help="the full data set: .npz with X (581012 x 54) and y")
    home = Path(__file__).parents[1] / "src/treecv/data/covtype_sample.npz"
    parser.add_argument("--out", type=Path, default=home)
    arguments = parser.parse_args()
    stored = np.load(arguments.covtype, allow_pickle=False)
    rows = np.sort(np.random.default_rng(SEED).permutation(len(stored["y"]))[:ROWS])
    np.savez_compressed(arguments.out, X=np.ascontiguousarray(stored["X"][rows]), y=stored["y"][rows])
    print(f"{arguments.out}: {len(rows)} rows, {arguments.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
