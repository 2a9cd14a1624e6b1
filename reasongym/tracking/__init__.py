"""What is written down of a run, and what a person sees of it: metrics, rollouts, console, diagnosis, report."""

from reasongym.tracking.console import Progress
from reasongym.tracking.definitions import METRICS, MetricInfo, metric_info
from reasongym.tracking.diagnosis import Diagnosis
from reasongym.tracking.environment import environment
from reasongym.tracking.folder import RunFolder
from reasongym.tracking.metrics import MetricsLog, read_metrics
from reasongym.tracking.report import write_curve_svg, write_report
from reasongym.tracking.rollouts import read_rollouts, write_rollouts

__all__ = [
    "METRICS",
    "Diagnosis",
    "MetricInfo",
    "MetricsLog",
    "Progress",
    "RunFolder",
    "environment",
    "metric_info",
    "read_metrics",
    "read_rollouts",
    "write_curve_svg",
    "write_report",
    "write_rollouts",
]
