"""Benchmarks: `make bench`, or `make bench ARGS="scoring rows"`. Each prints ratios taken within one run."""
