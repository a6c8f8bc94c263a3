"""Builds the wheel, installs it into a folder of its own as pip does (by pip, where there is one), and runs the module's
tests on what was installed.

usage: test_wheel.py LIBRARY VERSION FOLDER      FOLDER: of the programs that test_reprise_rt.py takes
"""
import base64
import csv
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def check_record(folder):
    """Each file is what RECORD says, and each is named there."""
    info = next(d for d in os.listdir(folder) if d.endswith(".dist-info"))
    with open(os.path.join(folder, info, "RECORD"), newline="") as f:
        rows = {name: (digest, size) for name, digest, size in csv.reader(f)}
    for name, (digest, size) in rows.items():
        if not digest or name.startswith("..") or name.endswith((".pyc", "INSTALLER", "REQUESTED", "direct_url.json")):
            continue
        with open(os.path.join(folder, name), "rb") as f:
            data = f.read()
        found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert (digest, int(size)) == ("sha256=" + found, len(data)), name
    for name in ("reprise_rt.py", "reprise_rt.libs/libreprise-rt.so.0"):
        assert name in rows, name


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    library, version, programs = sys.argv[1:]
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as installed:
        build = [sys.executable, "-B", os.path.join(HERE, "build_wheel.py"), library, version, made]
        wheel = subprocess.run(build, check=True, capture_output=True, text=True).stdout.strip()
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps",
               "--no-compile", "--target", installed, wheel]
        if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0:
            subprocess.run(pip, check=True)
        else:
            with zipfile.ZipFile(wheel) as of:
                of.extractall(installed)
        check_record(installed)
        environment = {k: v for k, v in os.environ.items() if k not in ("RPRT_LIBRARY", "LD_LIBRARY_PATH")}
        environment["RPRT_MODULE"] = installed
        test = [sys.executable, "-B", os.path.join(HERE, "test_reprise_rt.py"), programs]
        code = "import reprise_rt as r; assert r.__version__ == %r and %r in r.__file__" % (version, installed)
        subprocess.run([sys.executable, "-B", "-c", code], check=True, env={**environment, "PYTHONPATH": installed})
        sys.exit(subprocess.run(test, env=environment).returncode)


if __name__ == "__main__":
    main()
