"""Services that show a run's numbers: each in a process of its own, so that none can stop or slow the training."""

from reasongym.tracking.loggers.known import LOGGERS, check_loggers
from reasongym.tracking.loggers.messages import Outcome, RunInfo
from reasongym.tracking.loggers.together import Loggers

__all__ = ["LOGGERS", "Loggers", "Outcome", "RunInfo", "check_loggers"]
