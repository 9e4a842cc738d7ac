"""Run the conformance parts that we hold and compare with the numbers recorded in conformance.json.

`--record` writes the numbers of this run, if none is lower than the recorded one.
"""

import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
RUN = HERE.parent.parent / "shared" / "conformance" / "run.py"
RECORD = HERE / "conformance.json"


def measure(parts: list[str]) -> dict[str, int]:
    """Number of cases and names that pass, by part."""
    passed = {}
    for command in (["cases", *parts], ["api"]):
        done = subprocess.run([sys.executable, str(RUN), *command], stdout=subprocess.PIPE, text=True, check=False)
        sys.stdout.write(done.stdout)
        for kind, part, count in re.findall(r"^(cases|api)/(\w+): (\d+)/", done.stdout, re.M):
            passed[f"{kind}/{part}"] = int(count)
    return passed


def main() -> int:
    recorded = json.loads(RECORD.read_text())
    parts = [name.split("/")[1] for name in recorded if name.startswith("cases/")]
    passed = measure(parts)
    fewer = {name: (passed.get(name, 0), least) for name, least in recorded.items() if passed.get(name, 0) < least}
    for name, (now, least) in fewer.items():
        print(f"conformance fell: {name} passes {now}, {least} are recorded")
    if "--record" in sys.argv and not fewer:
        RECORD.write_text(json.dumps({name: passed[name] for name in recorded}, indent=2) + "\n")
    return int(bool(fewer))


if __name__ == "__main__":
    sys.exit(main())
