"""wheel_source.py REQUIREMENT FILE…: files of a wheel of the configured package index, as JSON, without fetching the whole wheel."""

import io
import json
import re
import subprocess
import sys
import urllib.parse
import urllib.request
import zipfile


class Remote(io.RawIOBase):
    """A file behind a URL that is read in ranges."""

    def __init__(self, url):
        self.url, self.at = url, 0
        request = urllib.request.Request(url, method="HEAD")
        with urllib.request.urlopen(request, timeout=60) as answer:
            self.size = int(answer.headers["Content-Length"])

    def seekable(self):
        return True

    def readable(self):
        return True

    def tell(self):
        return self.at

    def seek(self, offset, whence=io.SEEK_SET):
        self.at = {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence] + offset
        return self.at

    def readinto(self, buffer):
        last = min(self.size, self.at + len(buffer)) - 1
        if last < self.at:
            return 0
        request = urllib.request.Request(self.url, headers={"Range": f"bytes={self.at}-{last}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            if answer.status != 206:
                raise SystemExit(f"{self.url} is not served in ranges")
            read = answer.read()
        buffer[: len(read)] = read
        self.at += len(read)
        return len(read)


def wheel_of(requirement):
    """Where pip would get it from."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--ignore-installed",
        "--no-deps",
        "--quiet",
        "--report",
        "-",
    ]
    command += ["--only-binary=:all:", "--python-version=3.12", "--target=/nonexistent", requirement]
    command += [f"--platform=manylinux_2_{minor}_x86_64" for minor in (17, 28, 31, 34, 35)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    (item,) = json.loads(done.stdout)["install"]
    return re.sub(r"#.*", "", item["download_info"]["url"])


requirement, *paths = sys.argv[1:]
with zipfile.ZipFile(io.BufferedReader(Remote(wheel_of(requirement)), 1 << 20)) as wheel:
    json.dump({path: wheel.read(path).decode() for path in paths}, sys.stdout)
