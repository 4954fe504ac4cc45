"""The same as the baseline: only the instructions differ."""

from treecv._core_v1 import *
