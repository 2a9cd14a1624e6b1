"""One file a migration, v<number>_<what it does>.py; the last number is `HEAD` in migrating.py."""
