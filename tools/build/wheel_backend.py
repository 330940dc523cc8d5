"""Make a wheel of python/halley with libhalley.so and the program in it.

    wheel_backend.py FOLDER       build (make all) and write FOLDER/halley-*.whl

Also the build backend of pyproject.toml, so that `pip install .` works. A wheel is a zip file with
a folder of metadata; nothing but Python's own modules is needed.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPENDENCY = "cffi>=1.14"
SUMMARY = "How fast a model will train on a cluster before it exists"


def read_version():
    text = (ROOT / "include/halley/version.h").read_text()
    return re.search(r'#define HALLEY_VERSION "([^"]+)"', text).group(1)


def list_files():
    """Names in the wheel and the files they come from, in a fixed order."""
    package = ROOT / "python/halley"
    for path in sorted(package.rglob("*")):
        if path.suffix == ".py" or path.name == "py.typed":
            yield f"halley/{path.relative_to(package).as_posix()}", path
    yield "halley/libhalley.so", ROOT / "build/libhalley.so"
    yield "halley/bin/halley", ROOT / "build/halley"


def describe(version):
    return (f"Metadata-Version: 2.1\nName: halley\nVersion: {version}\nSummary: {SUMMARY}\n"
            f"License: MIT\nRequires-Python: >=3.8\nRequires-Dist: {DEPENDENCY}\n"
            "Provides-Extra: tables\nRequires-Dist: numpy; extra == 'tables'\n"
            "Requires-Dist: pandas; extra == 'tables'\n"
            "Requires-Dist: matplotlib; extra == 'tables'\n")


class Wheel:
    """A zip file whose RECORD lists every entry with its hash; the same bytes each time."""

    def __init__(self, path):
        self.file = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record = []

    def add(self, name, data, mode=0o644):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.file.writestr(entry, data)

    def close(self, info):
        name = f"{info}/RECORD"
        self.add(name, ("\n".join(self.record) + f"\n{name},,\n").encode())
        self.file.close()


def build_wheel(folder, config_settings=None, metadata_directory=None):
    subprocess.run(["make", "--no-print-directory", "-C", str(ROOT), "all"], check=True,
                   stdout=sys.stderr)
    version = read_version()
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    tag = f"py3-none-{platform}"
    name = f"halley-{version}-{tag}.whl"
    os.makedirs(folder, exist_ok=True)
    part = os.path.join(folder, f".{name}.{os.getpid()}")
    wheel = Wheel(part)
    for inside, path in list_files():
        wheel.add(inside, path.resolve().read_bytes(),
                  0o755 if inside.startswith("halley/bin/") else 0o644)
    info = f"halley-{version}.dist-info"
    wheel.add(f"{info}/METADATA", describe(version).encode())
    wheel.add(f"{info}/WHEEL", (f"Wheel-Version: 1.0\nGenerator: halley\n"
                                f"Root-Is-Purelib: false\nTag: {tag}\n").encode())
    wheel.close(info)
    os.replace(part, os.path.join(folder, name))
    return name


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(os.path.join(sys.argv[1], build_wheel(sys.argv[1])))
