"""Regular expressions of JSON Schema (ECMA-262) in Python's. Written by ipybox together with its package."""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import Any

from pydantic_core import SchemaValidator

if sys.version_info >= (3, 11):
    from re import _parser  # type: ignore[attr-defined]
else:
    import sre_parse as _parser

_SPACES = "\\t\\n\\x0b\\x0c\\r \\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
_NO_SPACES = (
    "\\x00-\\x08\\x0e-\\x1f!-\\x9f\\xa1-\\u167f\\u1681-\\u1fff\\u200b-\\u2027\\u202a-\\u202e"
    "\\u2030-\\u205e\\u2060-\\u2fff\\u3001-\\ufefe\\uff00-\\U0010ffff"
)
#: Classes as the inside of a class. Rust's own have all of Unicode.
_WORDS = {
    "d": "0-9", "D": "\\x00-/:-\\U0010ffff",
    "w": "0-9A-Za-z_", "W": "\\x00-/:-@\\x5b-\\x5e\\x60\\x7b-\\U0010ffff",
}  # fmt: skip
_CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
_CATEGORIES = {
    "Letter": "L", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Titlecase_Letter": "Lt",
    "Cased_Letter": "LC", "Modifier_Letter": "Lm", "Other_Letter": "Lo", "Mark": "M", "Nonspacing_Mark": "Mn",
    "Spacing_Mark": "Mc", "Enclosing_Mark": "Me", "Number": "N", "Decimal_Number": "Nd", "digit": "Nd",
    "Letter_Number": "Nl", "Other_Number": "No", "Punctuation": "P", "punct": "P", "Connector_Punctuation": "Pc",
    "Dash_Punctuation": "Pd", "Open_Punctuation": "Ps", "Close_Punctuation": "Pe", "Initial_Punctuation": "Pi",
    "Final_Punctuation": "Pf", "Other_Punctuation": "Po", "Symbol": "S", "Math_Symbol": "Sm",
    "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk", "Other_Symbol": "So", "Separator": "Z",
    "Space_Separator": "Zs", "Line_Separator": "Zl", "Paragraph_Separator": "Zp", "Other": "C", "Control": "Cc",
    "Format": "Cf", "Surrogate": "Cs", "Private_Use": "Co", "Unassigned": "Cn",
}  # fmt: skip


_MOST_WAYS = 10_000_000  # of matching a text: what may take more is not tried; about a second


class Pattern:
    """A pattern that no text makes slow.

    Rust's engine takes time in proportion to the text. It has neither references to groups nor looking around: patterns
    with these are left to Python's, for texts that it is done with in a bounded number of ways.
    """

    def __init__(self, pattern: str) -> None:
        text = _Translation(pattern).text()
        # ASCII: \b is so in ECMA-262
        self._python = re.compile(text, re.ASCII)
        self._parsed = _parser.parse(text, re.ASCII)
        self._linear = _linear(_Translation(pattern, end=r"\z", boundary=r"(?-u:\b)").text())

    def search(self, text: str) -> bool | None:
        """Whether it is found in the text; None where that would take too long."""
        if self._linear:
            found = bool(self._linear.isinstance_python(text))
            if found or not _has_surrogates(text):
                return found
        ways = _ways(self._parsed, len(text))
        if not self._python.pattern.startswith("^"):
            ways *= len(text) + 1
        return bool(self._python.search(text)) if ways <= _MOST_WAYS else None


@cache
def compiled(pattern: str) -> Pattern | None:
    """The pattern, or None where Python has nothing that means the same: what cannot be checked is not."""
    try:
        return Pattern(pattern)
    except (ValueError, OverflowError, RecursionError):  # re.error is a ValueError from 3.13 on
        return None
    except re.error:
        return None


def _linear(pattern: str) -> SchemaValidator | None:
    """Pydantic's own check of patterns, which is Rust's; None where that has no such pattern."""
    try:
        return SchemaValidator({"type": "str", "pattern": pattern})
    except Exception:  # pydantic_core.SchemaError, which it does not promise
        return None


def _has_surrogates(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _ways(parsed: Any, length: int) -> float:
    """In how many ways, at most, an engine that goes back may try to fit a parsed pattern into so many characters."""
    ways, most = 1.0, 1.0
    for kind, argument in parsed:
        word = str(kind)
        if word in ("ASSERT", "ASSERT_NOT"):  # tried once at each place that is reached, and never again
            most = max(most, ways * _ways(argument[1], length))
        elif word == "BRANCH":
            ways *= sum(_ways(part, length) for part in argument[1])
        elif word == "SUBPATTERN":
            ways *= _ways(argument[-1], length)
        elif word in ("MAX_REPEAT", "MIN_REPEAT"):
            least, upper, body = argument
            times, once = min(upper, length), _ways(body, length)
            ways *= max(times - least, 0) + 1 if once <= 1 else once ** min(times, 1000)
        if ways > _MOST_WAYS:
            break
    return max(ways, most)


class _Translation:
    """Text that means the same to Python's engine, and to Rust's with its own words for an end and a boundary."""

    def __init__(self, pattern: str, end: str = r"\Z", boundary: str = r"\b") -> None:
        self.rest = pattern
        self.end = end
        self.boundary = boundary
        self.at = 0

    def text(self) -> str:
        out: list[str] = []
        while self.at < len(self.rest):
            out.append(self._atom())
        return "".join(out)

    def _take(self, expression: str) -> re.Match[str] | None:
        found = re.compile(expression, re.DOTALL).match(self.rest, self.at)
        if found:
            self.at = found.end()
        return found

    def _atom(self) -> str:
        if self._take(r"\\"):
            return self._escape()
        if self._take(r"\["):
            return self._class()
        if self._take(r"\."):
            return "[^\\n\\r\\u2028\\u2029]"
        if self._take(r"\$"):
            return self.end
        if found := self._take(r"\(\?(<[A-Za-z_][A-Za-z0-9_]*>|<=|<!|:|=|!)"):
            return found[0].replace("(?<", "(?P<") if found[0].endswith(">") else found[0]
        if self._take(r"\(\?"):
            raise ValueError("a group that ECMA-262 does not have, or Python")
        if found := self._take(r"([*+?]|\{\d+(,\d*)?\})\??"):
            if self._take(r"[*+?]"):
                raise ValueError("a quantifier of a quantifier")
            return found[0]
        found = self._take(r".")
        assert found
        return found[0] if found[0] in "()|^" else re.escape(found[0])

    # --- Escapes: within a class and outside of one.

    def _escape(self) -> str:
        if self._take("s"):
            return f"[{_SPACES}]"
        if self._take("S"):
            return f"[^{_SPACES}]"
        if found := self._take("k<([A-Za-z_][A-Za-z0-9_]*)>"):
            return f"(?P={found[1]})"
        if found := self._take("[dDwW]"):
            return f"[{_WORDS[found[0]]}]"
        if found := self._take("[bB]"):
            return self.boundary.replace("b", found[0])
        if found := self._take(r"[1-9]\d?"):
            return f"(?:\\{found[0]})"
        if found := self._take(r"([pP])\{([^}]*)\}"):
            return f"[{'^' if found[1] == 'P' else ''}{_category(found[2])}]"
        return re.escape(self._character())

    def _character(self) -> str:
        """One character that is written with a backslash, which has been taken."""
        if found := self._take(r"u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"):
            high, low = int(found[1], 16), int(found[2], 16)
            return chr(0x10000 + (high - 0xD800) * 0x400 + low - 0xDC00)
        if found := self._take(r"u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]{1,8})\}"):
            return chr(int(found[1] or found[2] or found[3], 16))
        if found := self._take(r"c([A-Za-z])"):
            return chr(ord(found[1]) % 32)
        if self._take(r"0(?!\d)"):
            return "\0"
        found = self._take(".")
        if not found or found[0] in "pPkuxc0123456789":
            raise ValueError("an escape that means nothing, or too much")
        return _CONTROLS.get(found[0], found[0])

    def _class(self) -> str:
        inverse = bool(self._take(r"\^"))
        parts: list[str] = []
        while not self._take(r"\]"):
            first, single = self._member()
            if single and self.rest.startswith("-", self.at) and not self.rest.startswith("-]", self.at):
                self._take("-")
                last, single = self._member()
                parts.append(f"{first}-{last}" if single else f"{first}\\-{last}")
            else:
                parts.append(first)
        if not parts:
            return "(?s:.)" if inverse else "(?!)"
        return f"[{'^' if inverse else ''}{''.join(parts)}]"

    def _member(self) -> tuple[str, bool]:
        """A part of a class, and whether it is a single character."""
        if not self._take(r"\\"):
            found = self._take(".")
            if not found:
                raise ValueError("a class without an end")
            return _in_class(found[0]), True
        if self._take("s"):
            return _SPACES, False
        if self._take("S"):
            return _NO_SPACES, False
        if found := self._take("[dDwW]"):
            return _WORDS[found[0]], False
        if found := self._take(r"([pP])\{([^}]*)\}"):
            return _category(found[2], found[1] == "P"), False
        if self._take("b"):
            return "\\x08", True
        return _in_class(self._character()), True


def _in_class(character: str) -> str:
    return re.escape(character) if ord(character) > 127 or character.isalnum() else f"\\x{ord(character):02x}"


@cache
def _category(name: str, inverse: bool = False) -> str:
    """The characters of a general category, as the inside of a class."""
    import unicodedata

    name = name.removeprefix("General_Category=").removeprefix("gc=")
    wanted = _CATEGORIES.get(name, name)
    if wanted not in _CATEGORIES.values():
        raise ValueError(f"the property {name} is not known")
    members = ("Lu", "Ll", "Lt") if wanted == "LC" else (wanted,)
    ranges: list[list[int]] = []
    for code in range(0x110000):
        if unicodedata.category(chr(code)).startswith(members) != inverse:
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
