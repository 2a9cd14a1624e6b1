"""A run as its folder tells it; the pages of `reasongym runs`: all runs on one, and one a run, as files or served."""
