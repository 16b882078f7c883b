#!/usr/bin/env bash
# pandas 3.1.1: to_timedelta reads Slurm's times of more than a day as negative ones.
# Expected: sacct prints the elapsed time as HH:MM:SS, and from a day on as D-HH:MM:SS. to_timedelta
#   reads the first. It should read 1-02:03:04 as 1 day, 2 hours and so on, or refuse it, as it does
#   with 1-02:03 and 02:03.
# Seen: it drops the hyphen, joins the digits to 102 hours, and takes the sign for the whole:
#   -4 days 6:03:04. With a blank instead (the day-to-second interval of SQL) it is +4 days 6:03:04.
#   errors="coerce" makes no gap of it. Only "1 days 02:03:04" is right.
# Why it matters: a column of times is right for all short jobs. The few long ones, which decide
#   the makespan and the sums of hours, turn negative or fourfold, and the dtype is as it should be.
# In this project: no times are read by pandas; a run of Slurm jobs comes in by Snakemake or
#   Nextflow (dagsched_env/io).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile pandas==3.1.1 numpy==2.4.6
cd "$work"
cat > sacct.txt <<'TEXT'
JobID|Elapsed
101|00:01:30
102|23:59:59
103|1-00:00:00
104|1-02:03:04
TEXT
venv/bin/python - <<'PYTHON'
import pandas

DAY_2_3_4 = 93784  # seconds of 1 day, 2 hours, 3 minutes and 4 seconds
jobs = pandas.read_csv("sacct.txt", sep="|")
jobs["seconds"] = pandas.to_timedelta(jobs["Elapsed"], errors="coerce").dt.total_seconds()
print(jobs.to_string(index=False))
blank = pandas.Timedelta("1 02:03:04").total_seconds()
word = pandas.Timedelta("1 days 02:03:04").total_seconds()
print(f"1 02:03:04 is {blank:.0f} s, 1 days 02:03:04 is {word:.0f} s")
refused = []
for text in ("1-02:03", "02:03"):
    try:
        pandas.Timedelta(text)
    except ValueError:
        refused.append(text)
print("refused:", *refused)
assert jobs["seconds"].tolist() == [90, 86399, -360000, -367384], "changed: times with a hyphen"
assert blank == 367384, "changed: times with a blank"
assert word == DAY_2_3_4, "changed: times with a word"
assert refused == ["1-02:03", "02:03"], "changed: what is refused"
PYTHON
