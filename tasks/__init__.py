"""Tasks: where prompts and references come from. This folder is imported as `reasongym.tasks`."""

if __name__ != "reasongym.tasks":
    raise ImportError(f"this folder is the package reasongym.tasks; it was imported as {__name__!r}. "
                      "Run from outside the repository, or write `import reasongym.tasks`.")

from reasongym.tasks.base import Example, Message, RewardPart, Task, TaskOptions, content_split, row_random
from reasongym.tasks.endless import EndlessTask

__all__ = ["EndlessTask", "Example", "Message", "RewardPart", "Task", "TaskOptions", "content_split", "row_random"]
