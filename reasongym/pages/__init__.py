"""Pages of results and of runs: escaped text, files that open from disk, a server that only reads, shared scripts."""
