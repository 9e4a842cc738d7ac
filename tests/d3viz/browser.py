"""Opens pages in headless Chromium and runs a script in them, without any package for that."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")

_FIRST = """<script>
window.problems = [];
window.addEventListener("error", (event) => problems.push(String(event.message)), true);
for (const name of ["error", "warn"]) console[name] = (...args) => problems.push(args.join(" "));
</script>"""

_LAST = """<pre id="outcome"></pre><script>
(async () => {
  let result = null;
  try { result = await (async () => { %s })(); } catch (error) { problems.push(String(error)); }
  document.getElementById("outcome").textContent = JSON.stringify({ result, problems });
})();
</script>"""


def run_in_page(page, script, profile_folder):
    """Return what `script` (the body of an async function) returns in a page, and the errors of its console."""
    page = Path(page)
    text = page.read_text(encoding="utf-8")
    changed = page.with_name("tested_" + page.name)
    changed.write_text(
        text.replace("<head>", "<head>" + _FIRST, 1).replace("</body>", _LAST % script + "</body>", 1), encoding="utf-8"
    )
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,800", "--enable-logging=stderr",
        "--allow-file-access-from-files", f"--user-data-dir={profile_folder}", "--virtual-time-budget=8000",
        "--dump-dom", changed.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    found = re.search(r'<pre id="outcome"[^>]*>(.*?)</pre>', done.stdout, re.S)
    assert found and found.group(1), done.stderr[-2000:]
    outcome = json.loads(unescape(found.group(1)))
    problems = outcome["problems"] + re.findall(r":CONSOLE[^\n]*", done.stderr)
    return outcome["result"], problems
