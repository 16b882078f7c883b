#!/usr/bin/env bash
# anrg-saga 2.1.0: its package metadata says MIT, its licence forbids commercial use.
# Expected: the field License of the metadata names the licence that comes with the package.
# Seen: `License: MIT` in METADATA; the file LICENSE of the same wheel begins like MIT, and adds
#   that the software may not be used for commercial purposes. Nothing of it is installed here.
# Why it matters: SAGA is the collection of DAG schedulers that others are compared with. Tools that
#   check licences read the metadata, and pass it.
# In this project: no requirement and no extra names it; benchmarks/env.py only measures against it
#   where a user has installed it.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" download --quiet --no-deps --only-binary :all: --python-version 3.12 \
    --dest "$work" anrg-saga==2.1.0
cd "$work"
venv/bin/python - <<'PYTHON'
import email
import pathlib
import zipfile

(wheel,) = pathlib.Path().glob("*.whl")
with zipfile.ZipFile(wheel) as files:
    (metadata,) = [name for name in files.namelist() if name.endswith("/METADATA")]
    (licence,) = [name for name in files.namelist() if name.endswith("/LICENSE")]
    stated = email.message_from_bytes(files.read(metadata))["License"]
    clauses = [
        line.strip()
        for line in files.read(licence).decode().splitlines()
        if "commercial purposes" in line
    ]
print(f"{metadata}: License: {stated}")
print(f"{licence}: {clauses[0][:70] if clauses else 'no word of commercial purposes'} ...")
assert stated == "MIT", "changed: the metadata"
assert clauses, "changed: the licence"
PYTHON
