"""URIs and IRIs by the grammars of RFC 3986 and RFC 3987. The form alone: nothing is looked up."""

from __future__ import annotations

import ipaddress
import re

__all__ = ["is_iri", "is_iri_reference", "is_uri", "is_uri_reference"]

_UCS = ("\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" + "".join(
    f"{chr(plane << 16)}-{chr((plane << 16) + 0xFFFD)}" for plane in range(1, 14)) + f"{chr(0xE1000)}-{chr(0xEFFFD)}")
_PRIVATE = f"\ue000-\uf8ff{chr(0xF0000)}-{chr(0xFFFFD)}{chr(0x100000)}-{chr(0x10FFFD)}"
_IP_LITERAL = re.compile(r"\[(?:[vV][0-9A-Fa-f]++\.[A-Za-z0-9._~!$&'()*+,;=:-]++|([0-9A-Fa-f:.]{2,45}))\]")


def _grammar(wide: str, private: str) -> re.Pattern[str]:
    """Groups: scheme, authority's host. wide: characters allowed beside ASCII; private: those in a query alone."""
    plain = rf"[A-Za-z0-9._~!$&'()*+,;={wide}-]|%[0-9A-Fa-f]{{2}}"
    path_char = rf"(?:{plain}|[:@])"
    authority = rf"(?:(?:{plain}|:)*+@)?(?P<host>\[[^\]\[/?#]*+\]|(?:{plain})*+)(?::[0-9]*+)?"
    # The first segment of a relative path holds no colon: else it would be a scheme.
    first = rf"(?:{plain}|@)++"
    segments = rf"(?:/{path_char}*+)*+"
    # The user part is tried first and given up whole where no @ follows, so each is read twice at most.
    return re.compile(
        rf"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*+):)?"
        rf"(?://{authority}{segments}|/(?:{path_char}++{segments})?|(?(scheme){path_char}++|{first}){segments}|)"
        rf"(?:\?(?:{path_char}|[/?{private}])*+)?(?:\#(?:{path_char}|[/?])*+)?")


_URI = _grammar("", "")
_IRI = _grammar(_UCS, _PRIVATE)


def _conforms(grammar: re.Pattern[str], text: str, *, absolute: bool) -> bool:
    found = grammar.fullmatch(text)
    if not found or (absolute and found["scheme"] is None):
        return False
    host = found["host"] or ""
    if not host.startswith("["):
        return True
    literal = _IP_LITERAL.fullmatch(host)
    return literal is not None and (literal[1] is None or _is_ipv6(literal[1]))


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def is_uri(text: str) -> bool:
    return _conforms(_URI, text, absolute=True)


def is_uri_reference(text: str) -> bool:
    return _conforms(_URI, text, absolute=False)


def is_iri(text: str) -> bool:
    return _conforms(_IRI, text, absolute=True)


def is_iri_reference(text: str) -> bool:
    return _conforms(_IRI, text, absolute=False)
