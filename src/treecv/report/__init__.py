"""What users see of the records."""

from treecv.report.result import Result

__all__ = ["Result"]
