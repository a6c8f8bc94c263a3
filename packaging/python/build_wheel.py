"""Makes a wheel of reprise_rt.py and the library that it opens: one file for pip, which needs neither a compiler nor a
package index.

usage: build_wheel.py LIBRARY VERSION FOLDER      LIBRARY: libreprise-rt.so of this machine's kind; prints the wheel
"""
import base64
import hashlib
import os
import re
import sys
import sysconfig
import zipfile

METADATA = """Metadata-Version: 2.1
Name: reprise-rt
Version: {version}
Summary: Runs programs that Reprise has exported, without a compiler
Requires-Python: >=3.8
Description-Content-Type: text/plain

import reprise_rt
net = reprise_rt.load("net.rpx")
y = net(x)  # x: whatever has the buffer protocol or DLPack
"""
WHEEL = """Wheel-Version: 1.0
Generator: build_wheel.py
Root-Is-Purelib: false
Tag: {tag}
"""


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    library, version, folder = sys.argv[1:]
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "reprise_rt.py"), encoding="utf-8") as f:
        module = re.sub(r'^__version__ = .*$', '__version__ = "%s"' % version, f.read(), count=1, flags=re.MULTILINE)
    with open(library, "rb") as f:
        code = f.read()
    tag = "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    info = "reprise_rt-%s.dist-info/" % version
    files = {
        "reprise_rt.py": module.encode(),
        "reprise_rt.libs/libreprise-rt.so.0": code,
        info + "METADATA": METADATA.format(version=version).encode(),
        info + "WHEEL": WHEEL.format(tag=tag).encode(),
    }
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += "%s,sha256=%s,%d\n" % (name, digest, len(data))
    files[info + "RECORD"] = (record + info + "RECORD,,\n").encode()
    path = os.path.join(folder, "reprise_rt-%s-%s.whl" % (version, tag))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # the same bytes whenever it is made
            entry.external_attr = (0o755 if name.endswith(".so.0") else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    print(path)


if __name__ == "__main__":
    main()
