"""Takes over what workloads/triton_kernels.py has captured: python3 triton.py CAPTURED NAME... && npm run fix

Of each kernel its launch and its PTX, without what is for debuggers: lines, files, comments.
"""

import os
import re
import sys

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "triton")


def without_debugging(text):
    text = re.sub(r"^\s*\.section[^{]*\{.*?\}$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"//.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*\.(loc|file)\b.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^\$L__(tmp|func_begin|func_end|info)\w*:$", "", text, flags=re.MULTILINE)
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip()) + "\n"


def main():
    captured, *names = sys.argv[1:]
    for name in names:
        with open(os.path.join(captured, f"{name}.ptx"), encoding="latin1") as file:
            ptx = without_debugging(file.read())
        with open(os.path.join(captured, f"{name}.json"), encoding="utf8") as file:
            launch = file.read()
        with open(os.path.join(HERE, f"{name}.ptx"), "w", encoding="latin1") as file:
            file.write(ptx)
        with open(os.path.join(HERE, f"{name}.json"), "w", encoding="utf8") as file:
            file.write(launch)


if __name__ == "__main__":
    main()
