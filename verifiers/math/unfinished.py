r"""Answers that are still the question: operations not carried out, and text of the prompt.

- An answer that states an integral, derivative, limit, sum, product or determinant, or a function of numbers alone
  (`\gcd(12,18)`, `\log_2 64`, `|(1-i)^8|`, `\lceil 3.6 \rceil`, `3^{100} \bmod 7`, `\sin 30^\circ`), where the
  reference states none of its kind, leaves its work undone, though it equals the reference.
- Arithmetic, powers, roots, factorials and binomial coefficients (`70+2`, `2^{10}`, `\sqrt{8}`, `5!`, `\binom{5}{2}`)
  are answers, as they are to other graders, unless the prompt is known and they stand in it: who hands back the formula
  that was given has answered nothing. Plain numbers, names and intervals may stand in both. An answer written as the
  reference is, or with its terms in another order, repeats nothing.

The prompt is known where the example holds it as `problem`, `question` or `prompt` (text), or as `messages`.

Known false positives: a formula of the prompt written otherwise (`\sqrt{242}` as `242^{1/2}`).
Known false negatives: an intermediate form that the prompt happens to hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from reasongym.verifiers.math.formulas import formulas
from reasongym.verifiers.math.identity import symbols
from reasongym.verifiers.math.lexer import Unreadable
from reasongym.verifiers.math.nodes import Calculus, Call, Constant, Node, Number, Relation, Symbol, Text, key, walk
from reasongym.verifiers.math.normalise import MAX_LENGTH, normalise
from reasongym.verifiers.math.reader import read

__all__ = ["leaves_work", "prompt_of", "repeats_prompt"]

MAX_PROMPT = 8_000
"""Characters of a prompt that are looked at, from its end, and so many of its formulas:"""
MAX_FORMULAS = 64

_OPERATOR = re.compile(
    r"\\(?:i{1,3}nt|lim|sum|prod|partial|det)|vmatrix|[\u222b\u2211\u220f\u2202]|d[a-z]|d\^|d\{|lim"
    r"|gcd|lcm|mod|max|min|floor|ceil|abs|[lrv]vert|\||log|l[gn]|exp|sin|cos|tan|cot|sec|csc|arc|[\u2308-\u230b\u2223\uff5c]")
_KINDS = {name: kind for kind, names in {
    "work": "sum prod det", "divisor": "gcd lcm", "modulo": "mod", "extreme": "max min", "rounding": "floor ceil",
    "size": "abs", "logarithm": "log ln",
    "angle": "sin cos tan cot sec csc arcsin arccos arctan arccot arcsec arccsc",
    "hyperbolic": "sinh cosh tanh coth arsinh arcosh artanh",
}.items() for name in names.split()}
_DRESS = re.compile(r"\\(?:text[a-z]{0,2}|mathrm|mbox|operatorname|mathbf|boldsymbol)(?![A-Za-z])|[{}]")
_IDLE_SPACE = re.compile(r"(?<![0-9A-Za-z])\s+|\s+(?![0-9A-Za-z])")
_PLAIN_FRACTION = re.compile(r"\\[dtc]?frac ?(?:\{ ?([^{}\\]{1,40}?) ?\}|(\d)) ?(?:\{ ?([^{}\\]{1,40}?) ?\}|(\d))")
_WORKS = re.compile(r"[0-9A-Za-z)|\]!][-+*/^!|]|\\(?:[dtc]?frac|sqrt|[dt]?binom|choose|cdot|times|div|bmod|mod|gcd|"
                    r"lcm|log|l[gn]|max|min|arc|sin|cos|tan|cot|sec|csc|[lr]floor|[lr]ceil|overline|int|sum|prod|lim|det)|\||_")
_FIELDS = ("problem", "question", "prompt")


def leaves_work(reference: str, given: str) -> bool:
    r"""Whether `given` leaves an operation of a kind that `reference` has none of: `\int_0^1 x\,dx` equals 1/2, but who
    was asked for it has answered nothing by it."""
    if reference == given or not _OPERATOR.search(given[:MAX_LENGTH]):
        return False
    stated, wanted = _tree(given), _tree(reference)
    return stated is not None and wanted is not None and not set(_left_open(stated)) <= set(_left_open(wanted))


def prompt_of(example: Mapping[str, object]) -> str:
    """The prompt that the example carries, its last 8,000 characters; empty where it carries none."""
    texts = [value for field in _FIELDS if isinstance(value := example.get(field), str)]
    messages = example.get("messages")
    for message in messages if isinstance(messages, list | tuple) else ():
        content = message.get("content") if isinstance(message, Mapping) else None
        texts += [content] if isinstance(content, str) else []
    return "\n\n".join(texts)[-MAX_PROMPT:]


def repeats_prompt(prompt: str, reference: str, given: str) -> bool:
    """Whether the answer is an operation that stands in the prompt, and is not how the reference writes it."""
    written, wanted = _spelling(given), _spelling(reference)
    left, _, result = written.rpartition("=")
    asked = [formula.content for formula in formulas(prompt)][-MAX_FORMULAS:]
    repeated = {written, left if result.isalpha() else result} - ({result} if result == wanted else set())
    worked = [re.escape(part) for part in repeated if _WORKS.search(part)]
    if not worked or wanted == written or not prompt:
        return False
    stated, gold = _result(_tree(given)), _result(_tree(reference))
    if stated is not None and gold is not None and _is_made_up(stated) and key(stated) == key(gold):
        return False
    verbatim = re.compile(rf"(?<![\w.\\])(?:{'|'.join(worked)})(?!\w)")
    if any(verbatim.search(_spelling(text)) for text in (*asked, prompt)):
        return True
    return stated is not None and _is_made_up(stated) and any(
        key(stated) == key(part) for text in asked if (tree := _tree(text)) is not None for part in walk(tree))


def _left_open(node: Node) -> Iterator[str]:
    """The kinds of operations that are left, of an equation in its last member."""
    for one in walk(node.items[-1] if isinstance(node, Relation) and set(node.signs) == {"="} else node):
        if isinstance(one, Calculus):
            yield "work"
        elif isinstance(one, Call) and one.name in _KINDS and (_KINDS[one.name] == "work" or not symbols(one)):
            yield _KINDS[one.name]


def _is_made_up(node: Node) -> bool:
    """Whether it is more than one number, name or word; a fraction of whole numbers is read as one number."""
    return not isinstance(node, Number | Symbol | Constant | Text)


def _result(node: Node | None) -> Node | None:
    return node.items[-1] if isinstance(node, Relation) and set(node.signs) == {"="} else node


def _tree(text: str) -> Node | None:
    if len(text.strip()) > MAX_LENGTH:
        return None
    try:
        return read(normalise(text.strip()).text)
    except Unreadable:
        return None


def _spelling(text: str) -> str:
    """The text without braces, type and spaces that part no words; its simple fractions with a slash."""
    slashed = _PLAIN_FRACTION.sub(lambda m: f"{m[1] or m[2]}/{m[3] or m[4]}", normalise(text[-MAX_PROMPT:]).text)
    return _IDLE_SPACE.sub("", _DRESS.sub("", slashed).replace(r"\cdot", "*").replace(r"\times", "*"))
