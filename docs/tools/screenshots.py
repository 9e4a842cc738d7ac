"""Pages of the site as people see them: pictures at two widths, light and dark, and what runs off a page.

``python docs/tools/screenshots.py HTML OUT``: HTML is what Sphinx built, OUT gets the pictures. Needs Chromium. Ends with 1 where
something is wider than its page and cannot be scrolled by itself.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from html import unescape
from typing import Any

PAGES = """
index why tutorial/tour tutorial/loops tutorial/convolution optimizations differences gallery/plot_03_convnet
generated/theano.tensor generated/flags
"""
WIDTHS = (1280, 400)
SCHEMES = {"light": 1, "dark": 0}
#: The page stands in a frame of the width, since windows of browsers have a least width.
FRAME = """<!DOCTYPE html><style>body {{ margin: 0 }} iframe {{ border: 0; display: block }}</style>
<iframe id="frame" src="/{page}.html" width="{width}" height="{height}"></iframe><pre id="outcome" hidden></pre><script>
document.getElementById("frame").addEventListener("load", function () {{
  const page = this.contentDocument;
  const scrolls = (element) => {{
    for (let e = element.parentElement; e && e !== page.body; e = e.parentElement) {{
      if (/auto|scroll|hidden/.test(getComputedStyle(e).overflowX) || getComputedStyle(e).position === "fixed") return true;
    }}
    return false;
  }};
  const wide = [];
  for (const element of page.querySelectorAll("article *, main *")) {{
    const box = element.getBoundingClientRect();
    if (!box.width || box.right <= {width} + 1 || scrolls(element)) continue;
    wide.push(element.tagName + " " + element.textContent.slice(0, 60).trim());
  }}
  document.getElementById("outcome").textContent = JSON.stringify({{
    wide: wide.slice(0, 5), width: page.documentElement.scrollWidth, background: getComputedStyle(page.body).backgroundColor }});
}});
</script>"""


class _Server(http.server.SimpleHTTPRequestHandler):
    frames: dict[str, str] = {}

    def do_GET(self) -> None:
        text = self.frames.get(self.path)
        if text is None:
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *args: Any) -> None:
        pass


def look(html: pathlib.Path, out: pathlib.Path, pages: list[str], height: int = 1600) -> list[str]:
    """Take the pictures, and return what is wrong."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        raise SystemExit("there is no Chromium")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Server, directory=str(html)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    out.mkdir(parents=True, exist_ok=True)
    problems = []
    with tempfile.TemporaryDirectory() as profile:
        for page in pages:
            for width in WIDTHS:
                _Server.frames[f"/frame-{width}"] = FRAME.format(page=page, width=width, height=height)
                for scheme, number in SCHEMES.items():
                    name = f"{page.replace('/', '-')}-{width}-{scheme}"
                    command = [
                        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                        f"--user-data-dir={profile}",
                        f"--window-size={max(width, 500)},{height}", f"--blink-settings=preferredColorScheme={number}",
                        "--timeout=4000", "--dump-dom", f"--screenshot={out / (name + '.png')}",
                        f"http://127.0.0.1:{server.server_port}/frame-{width}",
                    ]  # fmt: skip
                    found = None
                    for _ in range(3):
                        # Now and then a headless browser does not end.
                        with contextlib.suppress(subprocess.TimeoutExpired):
                            done = subprocess.run(command, capture_output=True, text=True, timeout=25, check=False)
                            found = re.search(r'<pre id="outcome"[^>]*>(.+?)</pre>', done.stdout, re.S)
                        if found:
                            break
                    if not found:
                        problems.append(f"{name}: not shown")
                        continue
                    outcome = json.loads(unescape(found.group(1)))
                    dark = sum(map(int, re.findall(r"\d+", outcome["background"])[:3])) < 200
                    if dark != (scheme == "dark"):
                        problems.append(f"{name}: the background is {outcome['background']}")
                    if outcome["wide"] or outcome["width"] > width + 1:
                        problems.append(f"{name}: {outcome['width']} pixels wide; {outcome['wide']}")
    server.shutdown()
    return problems


if __name__ == "__main__":
    wrong = look(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:] or PAGES.split())
    print(*wrong, f"{len(wrong)} problems", sep="\n")
    sys.exit(bool(wrong))
