"""Sampling.

    engine.py    a Ray actor around vLLM
    pool.py      the engines of a run, fed by least load
    requests.py  what an engine is asked, and its seed
    prompts.py   examples as token ids, and the order they are visited in
"""

__all__: list[str] = []
