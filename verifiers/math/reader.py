"""Reading of an answer into a tree: lists, relations, sets, ratios, sums, products. Recursive descent, bounded depth.

`a/2b` is a/(2b), as it is printed, but `1/2x` is half an x: a fraction of two whole numbers stays together. A number
directly behind a value (`x 2`, `5 72`) is not read. A text that is not read to its end is not read at all.
"""

from __future__ import annotations

import re
from fractions import Fraction

from reasongym.verifiers.math.factors import FactorReader
from reasongym.verifiers.math.lexer import Unreadable, tokens
from reasongym.verifiers.math.nodes import (
    Call,
    Constant,
    Node,
    Number,
    Quantity,
    Ratio,
    Relation,
    Sequence,
    SetOperation,
    Sum,
    Text,
    negative,
    product,
    quotient,
    total,
)
from reasongym.verifiers.math.notation import FUNCTIONS
from reasongym.verifiers.math.unit_words import is_unit_phrase, scaled
from reasongym.verifiers.math.units import ONE_LETTER
from reasongym.verifiers.number_words import word_quantities

__all__ = ["MAX_ITEMS", "read"]

MAX_ITEMS = 200
_RELATIONS = ("=", "!=", "<", "<=", ">", ">=", "~", "in")
_HEDGES = frozenset(("approximately", "about", "exactly", "only", "roughly"))
_WRAPPED = re.compile(r"\\(?:text(?:bf|it|rm|normal|sf|tt)?|mbox|mathrm|operatorname|mathbf|hbox) ?\{([^{}]{0,400})\}")
_LIST = re.compile(r",|\b(?:and|or)\b", re.IGNORECASE)
_FORMULA = re.compile("(?:sin|cos|tan|cot|sec|csc|ln|log)[a-z]")
_LETTERS = frozenset(("alpha", "beta", "gamma", "delta", "theta", "lambda", "sigma", "omega", "infty", "infinity"))


def read(text: str, *, grouped: bool = True) -> Node:
    """The tree of a normalised answer. grouped: whether a comma outside brackets can mark thousands.

    Raises Unreadable where the text is not mathematics, or only partly.
    """
    words = _only_words(text)
    if words is not None:
        return _spoken(words)
    reader = Reader(tokens(text, grouped=grouped))
    node = reader.divided(reader.listing())
    if reader.next.kind != "end":
        raise Unreadable(f"{reader.next.text!r} is not read")
    return node


def _only_words(text: str) -> Text | None:
    """The answer as words, where it consists of words; a lone letter is one in `\\text{}` only."""
    bare = _WRAPPED.sub(r" \1 ", text)
    if re.search(r"[^A-Za-z\s.,'()\"!-]|^\s*-", bare):  # `-even` is no word
        return None
    runs = re.findall("[A-Za-z]+", bare)
    is_text = any(len(run) > 3 and run not in _LETTERS for run in runs) or (bare != text and bool(runs))
    if all(len(part.split()) == 1 for part in _LIST.split(bare) if part.strip()) and _LIST.search(bare):
        return None  # a list of names, in whichever order
    known = any(_FORMULA.fullmatch(run) or run in FUNCTIONS or run.lower() in ("and", "or") for run in runs)
    if not is_text or (known and len(runs) < 4) or runs in (["e"], ["i"]):
        return None
    return Text(" ".join(run.lower() for run in runs))


def _spoken(words: Text) -> Node:
    """Words that name a number, or infinity, as that."""
    if words.words in ("infinity", "positive infinity", "negative infinity"):
        return negative(Constant("inf")) if words.words.startswith("negative") else Constant("inf")
    found = word_quantities(words.words)
    if len(found) == 1 and found[0].value is not None and found[0].text == words.words:
        return Number(found[0].value)
    return words


class Reader(FactorReader):
    """Reads what factors make up; see FactorReader for the factors."""

    def listing(self) -> Node:
        """Items parted by commas, semicolons, "and", "or". Outside brackets a semicolon parts lists of commas."""
        lists: list[list[Node]] = [[]]
        joined = ","
        while True:
            lists[-1].append(self.item())
            sign = self.separator()
            if not sign:
                break
            if sign in ("and", "or") and joined in ("and", "or") and sign != joined:
                raise Unreadable("both `and` and `or`")
            joined = sign if sign != "," and joined not in ("and", "or") else joined
            if sign == ";":
                lists.append([])
            if sum(map(len, lists)) > MAX_ITEMS:
                raise Unreadable(f"more than {MAX_ITEMS} items")
        if joined == ";" and any(len(one) > 1 for one in lists) and not self.depth:
            return Sequence(tuple(one[0] if len(one) == 1 else Sequence(tuple(one), ",") for one in lists), ";")
        items = [item for one in lists for item in one]
        return items[0] if len(items) == 1 else Sequence(tuple(items), joined)

    def separator(self) -> str:
        """Take what parts two items, a comma before "and" included; empty where none stands here."""
        if self.sees(",", ";"):
            sign = self.take().text
            return self.take().text if self.next.kind == "joiner" else sign
        return self.take().text if self.next.kind == "joiner" else ""

    def item(self) -> Node:
        """A relation or value, with the unit behind it."""
        if self.next.kind == "word" and self.next.text.lower() in _HEDGES:
            self.take()
        node = self.relation()
        *before, last = node.items if isinstance(node, Relation) else (node,)
        factor, unit = scaled(self.unit())
        if factor != 1 and isinstance(last, Sum):
            raise Unreadable("a sum before a word that multiplies")
        if unit and not is_unit_phrase(unit):
            raise Unreadable(f"{unit!r} is no unit")
        last = last if factor == 1 else product([last, Number(Fraction(factor))])
        if unit:
            last = Quantity(last, unit)
        elif self.accept("pmod"):
            last = Call("residue", (last, self.whole_argument()))
        return Relation((*before, last), node.signs) if isinstance(node, Relation) else last

    def unit(self) -> str:
        """The words of a unit with their exponents and their `/`."""
        words = list[str]()
        while self.next.kind == "word" or self.sees("%") or (self.at_letter_unit() and not words):
            words.append(self.take().text)
            if self.accept("^"):
                words.append(f"^{self.unit_exponent()}")
            if self.sees("/") and self.tokens[self.at + 1].kind in ("word", "name"):
                self.take()
                words.append(f"/ {self.take().text}")
                words += [f"^{self.unit_exponent()}"] if self.accept("^") else []
        if words.count("%") > 1:
            raise Unreadable(f"{' '.join(words)!r} is no unit")
        return " ".join(words)

    def unit_exponent(self) -> str:
        """One digit, in braces or not: `cm^27` is printed as cm² with a 7 behind it."""
        index = self.index()
        if not re.fullmatch("-?[0-9]", index):
            raise Unreadable(f"a unit to the power {index!r}")
        return index

    def at_letter_unit(self) -> bool:
        """Whether the last thing of the item is a unit of one letter, apart from the number before: `5 m`, `5 m/s`."""
        token, behind = self.next, self.tokens[self.at + 1:self.at + 3]
        if not (token.kind == "name" and token.spaced and token.text in ONE_LETTER and self.at):
            return False
        if self.tokens[self.at - 1].kind != "number":
            return False
        texts = [one.text for one in behind]
        return (behind[0].kind == "end" or texts[0] == "," or (texts[0] == "/" and texts[1] in ONE_LETTER)
                or (texts[0] == "^" and texts[1] in ("2", "3", "{")))

    def relation(self) -> Node:
        items, signs = [self.set_expression()], list[str]()
        while self.sees(*_RELATIONS):
            signs.append(self.take().text)
            items.append(self.set_expression())
        return Relation(tuple(items), tuple(signs)) if signs else items[0]

    def set_expression(self) -> Node:
        node = self.ratio()
        while self.sees("union", "intersection", "difference"):
            node = SetOperation(self.take().text, node, self.ratio())
        return node

    def ratio(self) -> Node:
        start = self.at
        items = [self.expression()]
        while self.accept(":"):
            items.append(self.expression())
        if len(items) == 1:
            return items[0]
        written = self.tokens[start:self.at]
        clock = len(written) == 3 and len(written[2].text) == 2 and all(t.text.isdigit() for t in written[::2])
        return Ratio(tuple(items), clock)

    def expression(self) -> Node:
        """A sum."""
        items = [self.product()]
        while self.sees("+", "-", "±", "∓"):
            sign = self.next.text
            if sign in "+-":
                self.take()
            item = self.product()
            items.append(negative(item) if sign == "-" else item)
        return total(items)

    def product(self) -> Node:
        """A product, with the sign before it. `±` reads as the value `pm` of what follows."""
        sign = ""
        while self.sees("+", "-", "±", "∓"):
            if sign in ("±", "∓"):
                raise Unreadable("a sign behind plus-minus")
            sign = {"+": sign, "-": "" if sign == "-" else "-"}.get(self.next.text, self.next.text)
            self.take()
        node = self.unsigned_product()
        return {"": node, "-": negative(node)}.get(sign) or Call("pm" if sign == "±" else "mp", (node,))

    def unsigned_product(self) -> Node:
        items = [self.power()]
        while True:
            if self.accept("*"):
                items.append(self.signed_power())
            elif self.sees("/"):
                if self.tokens[self.at + 1].kind == "word":
                    break  # a unit such as km/h without its number
                self.take()
                items = [quotient(product(items), self.denominator(product(items)))]
            elif self.accept("mod"):
                items = [Call("mod", (product(items), self.signed_power()))]
            elif self.continues():
                items.append(self.power())
            else:
                break
        return product(items)

    def signed_power(self) -> Node:
        return negative(self.power()) if self.accept("-") else self.power()

    def denominator(self, above: Node) -> Node:
        factors = [self.signed_power()]
        if isinstance(above, Number) and isinstance(factors[0], Number):
            return factors[0]
        while self.continues() and not self.next.spaced:
            factors.append(self.power())
        return product(factors)

    def continues(self) -> bool:
        """Whether a factor follows without a sign. Raises Unreadable where that factor is a number."""
        token = self.next
        behind = self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        if token.kind == "number" and behind.text == "!" and self.tokens[self.at - 1].text == "!":
            return True  # 50!50!
        if token.kind == "number" or (token.text == "{" and behind.kind == "number"):
            raise Unreadable("a number directly behind a value")
        if token.kind in ("name", "constant"):
            return not self.at_letter_unit()
        if token.kind == "function":
            return token.text != "binom"
        if token.kind == "structure":
            return token.text not in ("end", "over")
        return self.sees("(", "[", "{", "lfloor", "lceil") or (self.sees("|") and not self.bars)
