"""Whether the search of the built site finds what people look for: ``python docs/tools/search.py HTML``.

The ranking is that of Sphinx's ``searchtools.js``, by the same index. Ends with 1 where the page that answers a query is not
among the first five.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys
from typing import Any

from sphinx.search.en import SearchEnglish

#: What people type, and the pages one of which answers it.
QUERIES = {
    "shared variable": "tutorial/shared",
    "scan loop": "tutorial/loops",
    "gradient clipping": "generated/theano.gradient",
    "hessian": "tutorial/gradients",
    "random numbers seed": "tutorial/random",
    "convolution padding": "tutorial/convolution",
    "conv2d": "generated/theano.tensor.nnet",
    "nan": "tutorial/nan",
    "profiling": "tutorial/profiling",
    "pickle function": "tutorial/pickling",
    "ifelse lazy": "tutorial/conditions",
    "sparse matrix": "tutorial/sparse",
    "own op": "extending/ops",
    "as_op": "extending/ops generated/theano",
    "local rewrite": "extending/rewrites",
    "install windows": "install",
    "floatX": "generated/flags",
    "borrow": "tutorial/memory",
    "broadcasting": "tutorial/numpy tutorial/types tutorial/shapes",
    "debugmode": "tutorial/debugging tutorial/modes generated/theano.compile.debugmode",
    "pytensor": "moving/pytensor",
    "theano.tensor.exp": "generated/theano.tensor-elementwise",
    "cumsum": "generated/theano.tensor generated/theano.tensor.extra_ops",
    "glossary": "glossary",
}
TITLE, PARTIAL_TITLE, TERM, PARTIAL_TERM, NAME, PART_OF_NAME = 15, 7, 5, 2, 11, 6
PRIORITIES = {0: 15, 1: 5, 2: -5}


class Search:
    """The index of a built site."""

    def __init__(self, html: pathlib.Path):
        text = (html / "searchindex.js").read_text(encoding="utf-8")
        self.index: dict[str, Any] = json.loads(text[text.index("(") + 1 : text.rindex(")")])
        self.language = SearchEnglish({})

    def pages(self, query: str) -> list[str]:
        """Return the pages that a query finds, the best one first."""
        titles, names = self.index["titles"], self.index["docnames"]
        results = [*self._headings(query.lower()), *self._objects(query.lower()), *self._words(query)]
        ranked = sorted(results, key=lambda result: (-result[0], titles[result[1]].lower()))
        return list(dict.fromkeys(names[page] for _, page in ranked))

    def _headings(self, query: str) -> list[tuple[float, int]]:
        titles, found = self.index["titles"], []
        for title, places in self.index["alltitles"].items():
            if query in title.lower() and len(query) >= len(title) / 2:
                found += [(round(TITLE * len(query) / len(title)) + (titles[page] == title), page) for page, _ in places]
        for entry, places in self.index["indexentries"].items():
            if query in entry and len(query) >= len(entry) / 2:
                found += [(round(100 * len(query) / len(entry)), page) for page, _, main in places if main]
        return found

    def _objects(self, query: str) -> list[tuple[float, int]]:
        words, found = query.split(), []
        for prefix, members in self.index["objects"].items():
            for page, kind, priority, _, name in members:
                full = f"{prefix}.{name}".lower().lstrip(".")
                last = full.rpartition(".")[2]
                about = f"{full} {self.index['objnames'][str(kind)][2]} {self.index['titles'][page]}".lower()
                if all(word in about for word in words):
                    for word in words:
                        if word in full:
                            score = NAME if word in (full, last) else PART_OF_NAME if word in last else 0
                            found.append((score + PRIORITIES.get(priority, 0), page))
        return found

    def _words(self, query: str) -> list[tuple[float, int]]:
        stemmed = [self.language.stem(word.lower()) for word in re.findall(r"[\w]+", query)]
        words = [w for w in stemmed if self.language.word_filter(w)]
        scores: dict[int, dict[str, float]] = {}
        for word in words:
            for key, whole, part in (("terms", TERM, PARTIAL_TERM), ("titleterms", TITLE, PARTIAL_TITLE)):
                table = self.index[key]
                terms = [word] if word in table else [t for t in table if len(word) > 2 and word in t]
                for term in terms:
                    pages = table[term]
                    for page in pages if isinstance(pages, list) else [pages]:
                        scores.setdefault(page, {})[word] = whole if term == word else part
        return [(max(found.values()), page) for page, found in scores.items() if len(found) == len(set(words))]


if __name__ == "__main__":
    search = Search(pathlib.Path(sys.argv[1]))
    missed = 0
    for question, answers in QUERIES.items():
        first = search.pages(question)[:5]
        if not set(answers.split()) & set(first):
            missed += 1
            print(f"{question!r} should find {answers}, but finds {first}")
    print(f"{len(QUERIES)} queries, {missed} without their page")
    sys.exit(bool(missed))
