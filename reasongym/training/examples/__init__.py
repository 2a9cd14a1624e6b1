"""Examples to learn from without sampling: pairs, labelled completions, solutions. Their files, and how they are made
of a run's answers and encoded."""
