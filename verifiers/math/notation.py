"""The names of LaTeX and plain text that are known, and what each stands for."""

from __future__ import annotations

__all__ = [
    "ALPHABETS",
    "DROPPED",
    "FIGURES",
    "FUNCTIONS",
    "JOINERS",
    "MARKS",
    "NAMED",
    "OPERATORS",
    "SHORT_WORDS",
    "STRUCTURES",
    "STYLES",
    "TEXTS",
]

_OWN_NAMES = (
    "sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth", "ln", "exp", "log", "lg", "sqrt",
    "abs", "gcd", "lcm", "max", "min", "floor", "ceil", "arcsin", "arccos", "arctan", "arsinh", "arcosh",
    "artanh", "arccot", "arcsec", "arccsc", "det", "cbrt", "binom")
FUNCTIONS = {name: name for name in _OWN_NAMES} | {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "cosec": "csc", "arcsinh": "arsinh", "arccosh":
    "arcosh", "arctanh": "artanh", "tg": "tan", "ctg": "cot", "ceiling": "ceil", "binomial": "binom", "choose":
    "binom"}
"""Every name a function goes by, to the name it has in a tree."""

OPERATORS = {
    "bigcup": "union", "bigcap": "intersection",
    "cdot": "*", "times": "*", "ast": "*", "div": "/", "pm": "±", "mp": "∓", "cup": "union", "cap":
    "intersection", "setminus": "difference", "backslash": "difference", "le": "<=", "leq": "<=", "leqslant":
    "<=", "ge": ">=", "geq": ">=", "geqslant": ">=", "lt": "<", "gt": ">", "ne": "!=", "neq": "!=", "approx": "~",
    "simeq": "~", "equiv": "=", "in": "in", "lbrace": r"\{", "rbrace": r"\}", "lvert": "|", "rvert": "|", "vert":
    "|", "mid": "mid", "colon": ":", "langle": "(", "rangle": ")", "lbrack": "[", "rbrack": "]", "lparen": "(",
    "rparen": ")", "bmod": "mod", "mod": "mod", "pmod": "pmod", "degree": "°", "prime": "'", "lfloor": "lfloor",
    "rfloor": "rfloor", "lceil": "lceil", "rceil": "rceil", "to": "to", "land": "and", "lor": "or", "wedge": "and",
    "vee": "or"}
"""LaTeX commands that stand between or around values, to the operator they are read as."""

TEXTS = frozenset((
    "hbox", "mathrm", "mathsf", "mbox", "operatorname", "text", "textbf", "textit", "textnormal", "textrm",
    "textsf", "texttt"))
"""Commands whose argument is words."""


STYLES = frozenset((
    "bm", "boldsymbol", "box", "boxed", "ensuremath", "fbox", "mathbf", "mathbin", "mathit", "mathop", "mathrel"))
"""Commands that say how their argument looks, and nothing else."""


MARKS = {name: name for name in ("dot", "hat", "overline", "tilde", "underline", "vec")} | {
    "bar": "overline", "overrightarrow": "vec", "widehat": "hat", "widetilde": "tilde"}
"""Commands that make another symbol of their argument, to the one that looks alike."""


FIGURES = frozenset(("angle", "measuredangle", "sphericalangle", "triangle"))
"""Commands before the vertices of a figure, whose order says which it is."""


ALPHABETS = frozenset(("mathbb", "mathcal", "mathfrak", "mathscr"))
STRUCTURES = frozenset((
    "begin", "binom", "cfrac", "dbinom", "dfrac", "end", "frac", "infty", "int", "lim", "over", "prod", "sqrt", "sum",
    "surd", "tbinom", "tfrac"))
DROPPED = frozenset(("implies", "mathord", "therefore"))
JOINERS = {"and": "and", "or": "or", "&": "and"}
SHORT_WORDS = frozenset((
    "all", "boy", "car", "cat", "day", "dog", "for", "her", "his", "man", "men", "no", "none", "not", "odd",
    "one", "red", "six", "ten", "the", "two", "yes"))
"""Words of up to three letters that are no product of symbols."""


NAMED = {
    "pi": "pi", "infinity": "infty", "infty": "infty", "inf": "infty", "oo": "infty", "theta": "theta"}
"""Constants and letters that plain text spells out."""
