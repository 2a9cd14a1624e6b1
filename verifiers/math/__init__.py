"""Mathematical answers: which one a response states (`answers`), and whether it equals the reference (`compare`)."""
