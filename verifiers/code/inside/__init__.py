"""What runs inside the sandbox, sent there as source by `programs.py`: standard library only, and little of it."""
