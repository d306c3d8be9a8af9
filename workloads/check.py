"""Options whose faults are said in one line, and --check: can this run here at all?

A harness asks every job with --check before it starts the first one, so the answer must come at once: it
looks for packages without importing them and never touches the GPU.
"""

import argparse
import importlib.util
import sys


class Parser(argparse.ArgumentParser):
    def __init__(self, prog, doc):
        super().__init__(prog=prog, description=doc.splitlines()[0])
        self.add_argument("--check", action="store_true", help="only look whether this could run")

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\n")

    def look_up(self, name, known):
        """known[name]."""
        if name not in known:
            self.error(f'no model is called "{name}" (known: {", ".join(known)})')
        return known[name]

    def shape(self, default, **given):
        """A model's default shape, changed by options."""
        try:
            return default.changed(**given)
        except ValueError as fault:
            self.error(str(fault))

    def checked(self, given, packages):
        """Ends here if --check was asked for."""
        if not given.check:
            return given
        for package in packages:
            if importlib.util.find_spec(package) is None:
                self.error(f"{sys.executable} has no package {package}; install it there")
        self.exit(0)
