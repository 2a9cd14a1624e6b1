"""`reasongym runs`: all training runs on one page, a page a run, as files or served while they go on."""
