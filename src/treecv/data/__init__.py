"""Rows, chunks, and the data sets that come with the package."""

from treecv.data.chunks import Chunks
from treecv.data.feed import Feed, Folds, Succession
from treecv.data.rows import Rows
from treecv.data.sample import Sample, load_covtype
from treecv.data.targets import encode, numbers

__all__ = ["Chunks", "Feed", "Folds", "Rows", "Sample", "Succession", "encode", "load_covtype", "numbers"]
