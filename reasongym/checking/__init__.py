"""Checks of tasks and verifiers: right answers earn; wrong, degenerate, deceiving and hostile ones earn nothing."""

from reasongym.checking.cases import read_cases
from reasongym.checking.findings import CHECKS, Failure, Report, Skipped
from reasongym.checking.rows import Fits, Length
from reasongym.checking.subjects import Plan, check_task, check_verifier
from reasongym.checking.twice import Limits

__all__ = ["CHECKS", "Failure", "Fits", "Length", "Limits", "Plan", "Report", "Skipped", "check_task",
           "check_verifier", "read_cases"]
