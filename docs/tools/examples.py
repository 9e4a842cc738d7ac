"""The code blocks of the pages: run them and compare what they print with what stands below them.

A fence ``python`` is either a session with prompts, compared as doctest does, or a piece of a program; what such a piece
prints must stand in a fence ``output`` that follows it. A fence ``console`` holds commands, each after ``$ ``, and what
they print. Blocks of one page share their names. An ellipsis (``...``) stands for any text.

``python docs/tools/examples.py PAGE ...`` runs pages, with ``--write`` it replaces what stands there and is not right.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import io
import linecache
import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import traceback
import types
import warnings

DOCS = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(python|output|console)\n(.*?)^```$", re.M | re.S)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
COMMANDS = {"theano": "theano.cli", "theano-cache": "theano.cli.cache"}


def pages() -> list[pathlib.Path]:
    """Return the pages that people wrote, those that are made at build time left out."""
    return [p for p in sorted(DOCS.rglob("*.md")) if not {"_build", "generated", "gallery"} & set(p.parts)]


class Page:
    """One page whose blocks are run in order; `problems` tells what does not agree, `text` is the corrected page."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.problems: list[str] = []
        self.blocks = 0
        self.module = types.ModuleType("page")
        self.checker = doctest.OutputChecker()

    def run(self) -> Page:
        """Run all blocks in a directory of their own."""
        sys.modules["page"] = self.module
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            os.chdir(folder)
            try:
                self.text = self._run_blocks(self.text)
            finally:
                os.chdir(before)
                del sys.modules["page"]
        return self

    def _run_blocks(self, text: str) -> str:
        pieces, end, printed, where = [], 0, "", 0
        for found in FENCE.finditer(text):
            language, code = found.groups()
            line = text.count("\n", 0, found.start(2)) + 1
            if language == "output":
                right = self._compare(code, printed, line)
                code, printed = right, ""
            else:
                self._all_shown(printed, where)
                printed, where = "", line
                self.blocks += 1
                if language == "console":
                    code = self._console(code, line)
                elif ">>>" in code:
                    code = self._session(code, line)
                else:
                    printed = self._program(code, line)
            pieces += [text[end : found.start()], f"```{language}\n{code}```"]
            end = found.end()
        self._all_shown(printed, where)
        return "".join([*pieces, text[end:]])

    def _all_shown(self, printed: str, line: int) -> None:
        if printed.strip():
            self._problem(line, "prints what is not shown:\n" + printed)

    def _problem(self, line: int, text: str) -> None:
        self.problems.append(f"{self.path}:{line}: {text}")

    def _compare(self, want: str, got: str, line: int) -> str:
        got = "".join(part.rstrip() + "\n" for part in got.rstrip().split("\n"))
        if self.checker.check_output(want, got, OPTIONS):
            return want
        self._problem(line, f"shows\n{want}prints\n{got}")
        return got

    def _compiled(self, code: str, line: int, mode: str):
        # Errors and inspect show the lines of the page.
        name = f"<{self.path.stem}, line {line}>"
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        return compile(code, name, mode, dont_inherit=True)

    def _program(self, code: str, line: int) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                exec(self._compiled(code, line, "exec"), self.module.__dict__)
            except BaseException:
                self._problem(line, traceback.format_exc())
        return out.getvalue()

    def _session(self, code: str, line: int) -> str:
        pieces = []
        for example in doctest.DocTestParser().parse(code):
            if isinstance(example, str):
                pieces.append(example)
                continue
            got = self._statement(example.source, line + example.lineno)
            right = self.checker.check_output(example.want, got, OPTIONS)
            if "Traceback (most recent" in example.want and "Traceback (most recent" in got:
                right = self.checker.check_output(_error(example.want), _error(got), OPTIONS)
            if not right:
                self._problem(line + example.lineno, f"{example.source}shows\n{example.want}prints\n{got}")
            source = example.source.rstrip("\n").split("\n")
            pieces.append(f">>> {source[0]}\n" + "".join(f"... {part}".rstrip() + "\n" for part in source[1:]))
            pieces.append(example.want if right else _shown(got))
        return "".join(pieces)

    def _statement(self, source: str, line: int) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                exec(self._compiled(source, line, "single"), self.module.__dict__)
            except Exception as error:
                text = "".join(traceback.format_exception_only(type(error), error))
                out.write("Traceback (most recent call last):\n    ...\n" + text)
        return out.getvalue()

    def _console(self, code: str, line: int) -> str:
        with tempfile.TemporaryDirectory() as folder:
            for name, module in COMMANDS.items():
                path = pathlib.Path(folder, name)
                call = "theano_cache" if name == "theano-cache" else "main"
                path.write_text(f"#!{sys.executable}\nfrom {module} import {call}\n{call}()\n")
                path.chmod(path.stat().st_mode | stat.S_IEXEC)
            python = pathlib.Path(folder, "python")
            python.symlink_to(sys.executable)
            env = {**os.environ, "PATH": folder + os.pathsep + os.environ["PATH"], "COLUMNS": "100"}
            env["PYTHONPATH"] = os.pathsep.join([str(DOCS.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
            pieces = []
            for command, want in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", code, re.M):
                done = subprocess.run(["bash", "-c", command.replace("python ", sys.executable + " ", 1)], env=env,
                                      capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
                if done.returncode:
                    self._problem(line, f"{command} fails\n{done.stderr}")
                got = done.stdout
                pieces.append(f"$ {command}\n" + (self._compare(want, got, line) if (want + got).strip() else ""))
        return "".join(pieces)


def _error(text: str) -> str:
    # The exception's own lines: those after the indented ones.
    return re.sub(r"\ATraceback \(most recent call last\):\n(?:[ \t].*\n)+(?:[\w.]*\.)?", "", text)


def _shown(got: str) -> str:
    if got.startswith("Traceback"):
        lines = got.rstrip("\n").split("\n")
        name, _, rest = lines[2].partition(":")
        message = name.split(".")[-1] + (":" + rest if rest else "")
        if len(message) > 130:
            message = message[:110].rpartition(" ")[0] + " ..."
        elif lines[3:]:
            message += "\n..."
        return "\n".join([*lines[:2], message, ""])
    return "".join((part.rstrip() or "<BLANKLINE>") + "\n" for part in got.rstrip("\n").split("\n")) if got else ""


def main() -> int:
    """Run pages given by name, all without names; return how many have problems."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    parser.add_argument("--write", action="store_true", help="replace what stands there and is not right")
    options = parser.parse_args()
    sys.path.insert(0, str(DOCS.parent))
    bad = blocks = 0
    for path in options.pages or pages():
        page = Page(path.resolve()).run()
        blocks += page.blocks
        bad += bool(page.problems)
        for problem in page.problems:
            print(problem)
        if options.write and page.problems:
            path.write_text(page.text, encoding="utf-8")
    print(f"{blocks} blocks, {bad} pages with problems")
    return bad


if __name__ == "__main__":
    sys.exit(main())
