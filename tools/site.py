"""A hook of MkDocs (mkdocs.yml): the pages of the site that do not lie in docs/, and links that lead to them.

Links in the pages are those of the repository. README.md becomes the first page, other pages outside of docs/ keep
their path, sources get a page that shows them, everything else is copied. Names of headers and classes lead to the
reference, which Doxygen has written to build/docs/reference before.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import xml.etree.ElementTree
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "build/docs/reference"

_code_block = re.compile(r"^```.*?^```$|^(?: {4}[^\n]*\n)+", re.MULTILINE | re.DOTALL)
_link = re.compile(r"\]\((?!\w+:)([^)#\s]+)((?:#[^)\s]*)?)\)")
_name = re.compile(r"(?<![\[`])`((?:[\w/]+\.hpp)|(?:[a-z]\w+(?:::\w+)?))`(?!\])")
_languages = {".cpp": "cpp", ".hpp": "cpp", ".ipp": "cpp", ".py": "python", ".sh": "bash", ".txt": "text"}


def site_path(path: str) -> str:
    """Where the site has a file of the repository."""
    if path == "README.md":
        return "index.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return path + ".md" if Path(path).suffix in _languages else path


def repository_path(page: str) -> str:
    """The file that a page of the site was made of."""
    if page == "index.md":
        return "README.md"
    return "docs/" + page if (ROOT / "docs" / page).is_file() else page


def linked_files(text: str, page: str) -> set[str]:
    """The files of the repository that a page of it links to."""
    folder = posixpath.dirname(page)
    targets = (match[1] for match in _link.finditer(_code_block.sub("", text)))
    return {posixpath.normpath(posixpath.join(folder, target)) for target in targets}


def source_page(path: str) -> str:
    text = (ROOT / path).read_text(encoding="utf-8")
    return f"# {posixpath.basename(path)}\n\n`{path}`\n\n````{_languages[Path(path).suffix]}\n{text}````\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    def add(path: str) -> None:
        uri = site_path(path)
        if files.get_file_from_path(uri) is not None:
            return
        if Path(path).suffix in _languages:
            files.append(File.generated(config, uri, content=source_page(path)))
        elif (ROOT / path).is_file():
            files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))

    texts = {"docs/" + file.src_uri: file.content_string for file in files.documentation_pages()}
    waiting = {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "benchmarks/README.md"}
    for path in waiting:
        texts[path] = (ROOT / path).read_text(encoding="utf-8")
    for path, text in texts.items():
        waiting |= linked_files(text, path)
    for path in sorted(waiting):
        add(path)
    for file in sorted(REFERENCE.rglob("*")):
        if file.is_file():
            uri = "reference/" + file.relative_to(REFERENCE).as_posix()
            files.append(File.generated(config, uri, abs_src_path=str(file)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    source = repository_path(page.file.src_uri)
    here = posixpath.dirname(page.file.src_uri)
    names = reference_names()

    def link(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[1]))
        return f"]({posixpath.relpath(site_path(target), here or '.')}{match[2]})"

    def name(match: re.Match[str]) -> str:
        target = names.get(match[1])
        return f"[`{match[1]}`]({posixpath.relpath(target, here or '.')})" if target else match[0]

    def visit(text: str) -> str:
        return "".join(
            line if line.startswith("#") else _name.sub(name, line)
            for line in _link.sub(link, text).splitlines(keepends=True)
        )

    parts, end = [], 0
    for block in _code_block.finditer(markdown):
        parts += [visit(markdown[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, visit(markdown[end:])])


_names: dict[str, str] = {}


def reference_names() -> dict[str, str]:
    """Headers, classes, members and enumerations, as pages write them, with their place in the reference."""
    if not _names:
        for compound in xml.etree.ElementTree.parse(REFERENCE.with_suffix(".tag")).getroot():
            _names.update(compound_names(compound))
    return _names


def compound_names(compound: Any) -> dict[str, str]:
    kind, file = compound.get("kind"), compound.findtext("filename", "")
    file = file if file.endswith(".html") else file + ".html"
    if kind == "file":
        path = compound.findtext("path", "") + compound.findtext("name", "")
        return {path.partition("include/ipybox/")[2]: f"reference/{file}"}
    if kind not in ("class", "struct", "namespace", "concept"):
        return {}
    own = compound.findtext("name", "").removeprefix("ipybox").removeprefix("::")
    found = {own: f"reference/{file}"} if own and kind != "namespace" else {}
    for member in compound.findall("member"):
        if kind == "namespace" and member.get("kind") not in ("enumeration", "typedef"):
            continue
        place = f"reference/{member.findtext('anchorfile')}#{member.findtext('anchor')}"
        found["::".join(part for part in (own, member.findtext("name", "")) if part)] = place
    return found


def on_post_build(config: MkDocsConfig) -> None:
    """Beside each page its text, for programs that read llms.txt."""
    site = Path(config.site_dir)
    for page in site.rglob("*.html"):
        uri = page.relative_to(site).with_suffix(".md").as_posix()
        source = ROOT / repository_path(uri)
        if source.is_file():
            shutil.copyfile(source, page.with_suffix(".md"))
    index = site / "llms.txt"
    index.write_text(index.read_text(encoding="utf-8").replace("](../README.md)", "](index.md)"), encoding="utf-8")
