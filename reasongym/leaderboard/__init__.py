"""The results store and the boards made from it: tables, a static site, a page server."""

from reasongym.leaderboard.board import Board, Boards, read_boards
from reasongym.leaderboard.entry import Entry, Metric, Sample, Submission
from reasongym.leaderboard.store import Added, Store, Stored

__all__ = ["Added", "Board", "Boards", "Entry", "Metric", "Sample", "Store", "Stored", "Submission", "read_boards"]
