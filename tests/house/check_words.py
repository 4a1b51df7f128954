"""Plain English, as far as a program can tell: in comments of include/, doc strings of python/, README.md, docs/.

* Few sentences of comments begin with What, Who or Where: readers search for the noun.
* Nothing "is no X" (it is not an X), and words such as "somebody" name who is meant.
* Texts at run time name nothing as C++ does (`options::x`): users of the program read them, too.
* A line of text has at most 120 columns; `./dev format` wraps it (wrap.py).
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

import snippets
import wrap
from tree import INCLUDE, REPOSITORY, finish

#: The share of sentences, in percent, that may begin with one of these words. Boost.MySQL has 0 to 0.5.
HEADLESS_SHARE = 0.5

_headless = re.compile(r"(?:What|Who|Whoever|Whose|Where|Wherever)\b")
_comment = re.compile(r"^[ \t]*(?:///?<?|//!|/\*\*?|\*+)(?!/)[ \t]?(.*)$")
_command = re.compile(r"\\(?:par (?:Thread safety|Object lifetimes|In coroutines|[A-Z]\w+)|\w+)(?:\{\w+\})?|\*?/$")
_comment_behind = re.compile(r"[;{},)(][ \t]*///?<?[ \t]?(.*)$")
_code_block = re.compile(r"^```.*?^```$|^(?: {4}[^\n]*\n)+|<!--.*?-->", re.MULTILINE | re.DOTALL)
_sentence = re.compile(r"(?:^|(?<=[.?!:] ))(?=[\w`\"])")

NAMELESS = re.compile(r"\b(?:nobody|somebody|anybody|everybody|whoever|whomever)\b", re.IGNORECASE)

#: Libraries that are called so.
CPP_NAMES = {"tl::expected", "link ipybox::http and include <ipybox/http.hpp>"}

#: Comments, literals of characters, and those of strings, whose text is a group.
_lexeme = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<text>(?:\\.|[^"\\\n])*)"|\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)
#: What the compiler alone says: to who writes C++.
_of_compiler = re.compile(
    r"\bstatic_assert\s*\(.*?\)\s*;|^[ \t]*#[ \t]*error\b(?:\\\n|[^\n])*", re.MULTILINE | re.DOTALL
)
_scoped_name = re.compile(r"[A-Za-z_]\w*::(?:[A-Za-z_]|$)")

#: In pages, and in comments of public headers. Other code has none of NAMELESS either, nor texts of errors.
DISCOURAGED = {
    "is no X": re.compile(r"(?<!there )(?<!There )\b(?:is|are|was|were) no (?!longer|more|less|fewer|such)\w+"),
    "a word that names nobody": NAMELESS,
    "to be had": re.compile(r"\b(?:to be had|can be had|cannot be had)\b"),
}


def comments(code: str) -> str:
    """The text of the comments, those in adjoining lines as one paragraph. Code between them divides paragraphs."""
    lines = []
    for line in code.splitlines():
        match = _comment.match(line)
        behind = None if match else _comment_behind.search(line)
        text = _plain(match[1]) if match else f"\n{_plain(behind[1])}\n" if behind else ""
        lines.append(text)
    return re.sub(r"(?<!\n)\n(?!\n)", " ", "\n".join(lines))


def _plain(comment: str) -> str:
    """Without the commands of Doxygen, each of which begins a sentence."""
    return _command.sub(". ", comment).strip()


def doc_strings(code: str) -> str:
    """Those of a module of Python, each as a paragraph."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(code)) if isinstance(node, documented)]
    return "\n".join(text.replace("\n", " ") for text in found)


def prose(name: str, code: str) -> str:
    return doc_strings(code) if name.endswith(".py") else comments(code)


def sentences(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n+", re.sub(" +", " ", text)):
        yield from (part.strip() for part in _sentence.split(paragraph) if re.search(r"\w{2}", part))


def headless(texts: dict[str, str]) -> tuple[list[str], float]:
    """Sentences that begin with What, Who or Where, and their share in percent."""
    all_of_them = [(name, sentence) for name, text in texts.items() for sentence in sentences(prose(name, text))]
    found = [f"{name}: {sentence[:100]}" for name, sentence in all_of_them if _headless.match(sentence)]
    return found, 100 * len(found) / max(len(all_of_them), 1)


def discouraged(name: str, text: str) -> list[str]:
    return [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {why}: {match[0]}"
        for why, pattern in DISCOURAGED.items()
        for match in pattern.finditer(text)
    ]


def names_of_cpp(name: str, code: str) -> list[str]:
    """Texts of a program at run time with a name such as `options::x` in them. The name of a library may be one."""
    code = _of_compiler.sub(lambda match: "\n" * match[0].count("\n"), code)
    problems = []
    for lexeme in _lexeme.finditer(code):
        text = lexeme["raw"] or lexeme["text"] or ""
        if _scoped_name.search(text) and text not in CPP_NAMES:
            line = code.count("\n", 0, lexeme.start()) + 1
            problems.append(f"{name}:{line}: a name of C++, which users of the program do not know: {text}")
    return problems


def without_code(page: str) -> str:
    """The page with as many lines, but without code."""
    return _code_block.sub(lambda match: "\n" * match[0].count("\n"), page)


def doc_comments(code: str) -> str:
    """The header with as many lines, but only what stands in comments that Doxygen reads."""
    kept, inside = [], False
    for line in code.splitlines():
        inside = inside or line.lstrip().startswith("/**")
        place = line.find("///")
        kept.append(line if inside else line[place:] if place >= 0 else "")
        inside = inside and "*/" not in line
    return "\n".join(kept)


def main() -> int:
    code = {
        path.relative_to(INCLUDE / "ipybox").as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((INCLUDE / "ipybox").rglob("*.[hi]pp"))
        if not path.name.endswith("_source.hpp")
    }
    python = {path.name: path.read_text(encoding="utf-8") for path in sorted((REPOSITORY / "python").glob("*/*.py"))}
    found, share = headless(code | python)
    problems = []
    if share > HEADLESS_SHARE:
        problems = [*found, f"{share:.2f} % of the sentences begin so; {HEADLESS_SHARE} % may"]
    for name, text in code.items():
        if "/impl/" not in name and name.endswith(".hpp"):
            problems += discouraged(name, doc_comments(text))
    for name, text in (code | python).items():
        problems += [f"{name}: a word that names nobody: {match[0]}" for match in NAMELESS.finditer(text)]
    for name, text in code.items():
        problems += names_of_cpp(name, text)
    for path in sorted((REPOSITORY / "cli").glob("*.[hc]pp")):
        problems += names_of_cpp(f"cli/{path.name}", path.read_text(encoding="utf-8"))
    for page in snippets.pages(REPOSITORY):
        problems += discouraged(page.relative_to(REPOSITORY).as_posix(), without_code(page.read_text(encoding="utf-8")))
    problems += [problem for page in wrap.pages(REPOSITORY) for problem in wrap.long_lines(page, REPOSITORY)]
    return finish(problems, f"{share:.2f} % of the sentences in comments begin with What, Who or Where")


if __name__ == "__main__":
    sys.exit(main())
