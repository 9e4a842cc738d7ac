"""Which page covers each heading of another manual, and which headings no page has the words of.

``python docs/tools/headings.py TEXT``: TEXT is a manual in Markdown. A heading counts as covered where ``manual.md`` says, or
by the page that has most of its words, at least two thirds of them. Headings that are the
comments of programs, formulas, or the words of every docstring (Parameters, Notes ...) are left out.
"""

from __future__ import annotations

import pathlib
import re
import sys

DOCS = pathlib.Path(__file__).resolve().parent.parent
_EVERYWHERE = """
parameters notes note returns raises examples example see also references exercise exercises solution solutions warning warnings
documentation description overview utility functions prerequisites
"""
_COMMON = """
the and for with from theano into using use how this that what why when your its are not all can does one two recommended through
other instructions understanding important download way
"""
EVERYWHERE, COMMON = set(_EVERYWHERE.split()), set(_COMMON.split())


def words(text: str) -> set[str]:
    """Return the words of a text that say something, without endings."""
    plain = [word for word in re.findall(r"[a-z]{3,}", text.lower()) if word not in COMMON]
    found = {re.sub(r"(ing|ies|es|s|ed|e|y)$", "", word) for word in plain}
    return {word for word in found if len(word) > 2}


def headings(text: str) -> list[str]:
    """Return the headings of a manual."""
    chosen = []
    for line in re.findall(r"^#+ +(.+)$", text, re.M):
        title = re.sub(r"[*`]|<[^>]+>|^[\s\d.]+", "", line).strip()
        code = re.search(r"[=$]|\w\(|==|\\", title) or (title[:1].islower() and "." not in title)
        if title and not code and not words(title) <= words(" ".join(EVERYWHERE)):
            chosen.append(title)
    return list(dict.fromkeys(chosen))


def pages() -> dict[str, set[str]]:
    """Return the words of each page, those of the reference included where that was made."""
    names = [*DOCS.glob("*.md"), *DOCS.glob("*/*.md"), *DOCS.glob("generated/*.rst"), *DOCS.glob("programs/*.py")]
    made = {str(p.relative_to(DOCS)): words(p.read_text(encoding="utf-8")) for p in sorted(names) if p.name != "manual.md"}
    for name in ("README.md", "LICENSE", "CITATION.cff", "CONTRIBUTING.md"):
        made[name] = words((DOCS.parent / name).read_text(encoding="utf-8"))
    return made


def cover(titles: list[str]) -> dict[str, str]:
    """Return for each heading the page that covers it, an empty text where there is none."""
    known, found = pages(), {}
    rows = re.findall(r"^\| (?!---)([^|]+)\| ([^|]+)\|", (DOCS / "manual.md").read_text(encoding="utf-8"), re.M)
    table = [(words(chapters), there.strip()) for chapters, there in rows]
    for title in titles:
        wanted = words(title)
        listed = [there for chapters, there in table if wanted and wanted <= chapters]
        if listed:
            found[title] = re.sub(r"\[[^]]*\]\(([^)]*)\)", r"\1", listed[0])
            continue
        best = max(known, key=lambda name: (len(wanted & known[name]), not name.startswith("generated"), -len(known[name])))
        found[title] = best if len(wanted & known[best]) * 3 >= 2 * len(wanted) else ""
    return found


if __name__ == "__main__":
    table = cover(headings(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")))
    for title, page in table.items():
        print(f"{page or '-':40} {title}")
    missing = [title for title, page in table.items() if not page]
    print(f"{len(missing)} of {len(table)} headings have no page")
