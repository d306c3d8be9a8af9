"""Other preemptible forms beside a plan's own: python3 bench/ptx/h200/forms.py PLAN LABEL=OTHER_PLAN...

The others are plans that another version of the passes made. Each case of PLAN gets a line for each with the file that has
the kernel there; runner.cpp then measures all forms in turn.
"""

import os
import shutil
import sys


def main():
    plan, *others = sys.argv[1:]
    lines = os.path.join(plan, "plan.txt")
    with open(lines, encoding="utf8") as file:
        text = file.read().split("\n")
    labelled = [one.split("=", 1) for one in others]
    found = []
    for line in text:
        found.append(line)
        if not line.startswith("file "):
            continue
        name = line[len("file ") :]
        for label, folder in labelled:
            other = os.path.join(folder, name)
            if not os.path.exists(other):
                sys.exit(f"{folder} has no {name}: make it from the same corpus as {plan}.")
            shutil.copy(other, os.path.join(plan, f"{label}-{name}"))
            found.append(f"form {label} {label}-{name}")
    with open(lines, "w", encoding="utf8") as file:
        file.write("\n".join(found))


if __name__ == "__main__":
    main()
