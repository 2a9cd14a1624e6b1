r"""The formats that `format` checks, by the specification each names; a format that is not listed is not checked.

The checks of jsonschema take "@" for an e-mail address and let a trailing newline pass; these follow the texts:
date, time, date-time, duration (RFC 3339), email, idn-email (RFC 5321, 6531), hostname, idn-hostname (RFC 1123, 5890),
ipv4, ipv6 (RFC 2673, 4291), uri, uri-reference, iri, iri-reference (RFC 3986, 3987), uri-template (RFC 6570), uuid
(RFC 4122), json-pointer, relative-json-pointer (RFC 6901 and its draft), regex (ECMA-262, see patterns.py).
Known limit: an address is of the right form, which says nothing of whether it exists.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata

from reasongym.verifiers.json_schema.addresses import is_iri, is_iri_reference, is_uri, is_uri_reference
from reasongym.verifiers.json_schema.patterns import is_ecma_pattern
from reasongym.verifiers.json_schema.standards import is_idn_hostname
from reasongym.verifiers.json_schema.visit import Formats

__all__ = ["DRAFT_3_FORMATS", "FORMATS"]

_MAX_HOSTNAME = 253
_MAX_EMAIL = 254
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]|60)(?:\.[0-9]++)?"
                   r"(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))")
_TIME_PART = r"T(?:[0-9]++H(?:[0-9]++M(?:[0-9]++S)?)?|[0-9]++M(?:[0-9]++S)?|[0-9]++S)"
_DURATION = re.compile(rf"P(?:[0-9]++W|(?:[0-9]++Y(?:[0-9]++M(?:[0-9]++D)?)?|[0-9]++M(?:[0-9]++D)?|[0-9]++D)"
                       rf"(?:{_TIME_PART})?|{_TIME_PART})")
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOSTNAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*+")
_IPV4 = re.compile(r"(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\.(?!\Z)|\Z)){4}")
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
_LOCAL = re.compile(rf'(?:{_ATOM}++(?:\.{_ATOM}++)*+|"(?:[ !#-\[\]-~]|\\[ -~])*+")')
_WIDE = r"[^\x00-\x7f\ud800-\udfff]"
_WIDE_ATOM = rf"(?:{_ATOM}|{_WIDE})"
_WIDE_LOCAL = re.compile(rf'(?:{_WIDE_ATOM}++(?:\.{_WIDE_ATOM}++)*+|"(?:[ !#-\[\]-~]|{_WIDE}|\\[ -~])*+")')
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_POINTER = r"(?:/(?:[^~/]|~[01])*+)*+"
_JSON_POINTER = re.compile(_POINTER)
_RELATIVE_POINTER = re.compile(rf"(?:0|[1-9][0-9]*+)(?:#|{_POINTER})")
_VARIABLE = r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*+"
_VARIABLE_SPEC = rf"{_VARIABLE}(?::[1-9][0-9]{{0,3}}|\*)?"
_TEMPLATE = re.compile(rf"""(?:[^\x00- "%<>\\^`{{|}}\x7f-\x9f]|%[0-9A-Fa-f]{{2}}"""
                       rf"""|\{{[+#./;?&=,!@|]?{_VARIABLE_SPEC}(?:,{_VARIABLE_SPEC})*+\}})*+""")


def _is_date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if not found:
        return False
    year, month, day = (int(part) for part in found.groups())
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = 29 if month == 2 and leap else _DAYS[month - 1] if 1 <= month <= 12 else 0
    return 1 <= day <= days


def _is_time(text: str) -> bool:
    """A leap second is the last one of a day in UTC."""
    found = _TIME.fullmatch(text)
    if not found or found[3] != "60":
        return found is not None
    away = int(found[5] or 0) * 60 + int(found[6] or 0)
    utc = int(found[1]) * 60 + int(found[2]) + (away if found[4] == "-" else -away)
    return utc % 1440 == 1439


def _is_date_time(text: str) -> bool:
    return text[10:11] in ("T", "t") and _is_date(text[:10]) and _is_time(text[11:])


def _is_draft3_time(text: str) -> bool:
    return re.fullmatch("(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]", text) is not None


def _is_hostname(text: str) -> bool:
    if len(text) > _MAX_HOSTNAME or not _HOSTNAME.fullmatch(text):
        return False
    labels = text.split(".")
    # "--" in the third and fourth place is set aside for A-labels, which must be valid ones (RFC 5891, 4.2.3.1).
    return all(label[2:4] != "--" or (label[:2].lower() == "xn" and is_idn_hostname(label)) for label in labels)


def _is_idn_hostname(text: str) -> bool:
    """The separators of RFC 3490 count; a right-to-left name is held to RFC 5893 as a whole, not label by label."""
    labels = re.split("[.\u3002\uff0e\uff61]", text)
    if len(text) > _MAX_HOSTNAME or "" in labels or not is_idn_hostname(text):
        return False
    right_to_left = any(unicodedata.bidirectional(char) in ("R", "AL", "AN") for char in text)
    return not right_to_left or all(unicodedata.bidirectional(label[0]) in ("L", "R", "AL") for label in labels)


def _is_ipv4(text: str) -> bool:
    return _IPV4.fullmatch(text) is not None


def _is_ipv6(text: str) -> bool:
    if not re.fullmatch(r"[0-9A-Fa-f:.]{2,45}", text):
        return False
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return "." not in text or _is_ipv4(text.rpartition(":")[2])


def _is_address_literal(text: str) -> bool:
    inner = text[1:-1]
    if not (text.startswith("[") and text.endswith("]")):
        return False
    return _is_ipv6(inner[5:]) if inner[:5].lower() == "ipv6:" else _is_ipv4(inner)


def _is_email(text: str) -> bool:
    local, at, domain = text.rpartition("@")
    return (bool(at) and len(text) <= _MAX_EMAIL and len(local) <= 64 and _LOCAL.fullmatch(local) is not None
            and (_is_hostname(domain) or _is_address_literal(domain)))


def _is_idn_email(text: str) -> bool:
    local, at, domain = unicodedata.normalize("NFC", text).rpartition("@")
    return (bool(at) and len(text) <= _MAX_EMAIL and len(local) <= 64 and _WIDE_LOCAL.fullmatch(local) is not None
            and (_is_hostname(domain) or _is_idn_hostname(domain) or _is_address_literal(domain)))


def _is_duration(text: str) -> bool:
    return _DURATION.fullmatch(text) is not None


def _is_uuid(text: str) -> bool:
    return _UUID.fullmatch(text) is not None


def _is_json_pointer(text: str) -> bool:
    return _JSON_POINTER.fullmatch(text) is not None


def _is_relative_json_pointer(text: str) -> bool:
    return _RELATIVE_POINTER.fullmatch(text) is not None


def _is_uri_template(text: str) -> bool:
    return _TEMPLATE.fullmatch(text) is not None


FORMATS: Formats = {
    "date": _is_date, "date-time": _is_date_time, "duration": _is_duration, "email": _is_email,
    "hostname": _is_hostname, "idn-email": _is_idn_email, "idn-hostname": _is_idn_hostname, "ipv4": _is_ipv4,
    "ipv6": _is_ipv6, "iri": is_iri, "iri-reference": is_iri_reference, "json-pointer": _is_json_pointer,
    "regex": is_ecma_pattern, "relative-json-pointer": _is_relative_json_pointer, "time": _is_time, "uri": is_uri,
    "uri-reference": is_uri_reference, "uri-template": _is_uri_template, "uuid": _is_uuid,
}
DRAFT_3_FORMATS: Formats = {**FORMATS, "time": _is_draft3_time, "ip-address": _is_ipv4, "host-name": _is_hostname}
