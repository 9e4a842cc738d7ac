"""Writes `recorded.json` with the numbers that the interpreter's Theano gives for each program."""

import importlib.util
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = ["contractive", "draw", "maxout", "rbm", "sentiment", "skipgram", "walkback"]

if __name__ == "__main__":
    found = {}
    for name in NAMES:
        spec = importlib.util.spec_from_file_location(name, os.path.join(HERE, name + ".py"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found[name] = module.run()
        print(name, found[name])
    with open(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "recorded.json"), "w") as file:
        json.dump(found, file, indent=1)
        file.write("\n")
