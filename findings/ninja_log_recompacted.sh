#!/usr/bin/env bash
# ninja 1.13.2, cmake 4.4.5: writing the build files anew mixes the builds in .ninja_log.
# Expected: lines of the log are in the order in which commands ended, as ninja appends them; tools
#   such as ninjatracing take a time of end that falls for the beginning of another build.
# Seen: CMake ends with `ninja -t recompact`, which keeps the last line of each output, but puts it
#   where the first one was. A command of the second build stands among those of the first one, and
#   no time falls: both look like one build, in which a command runs before what it needs.
# Why it matters: a timeline of "the last build" shows commands of others, at times of another clock.
# In this project: dagsched_env/io/ninja.py tells builds apart by the times of change, too.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile ninja==1.13.2 cmake==4.4.5
mkdir "$work/project"
cd "$work/project"
export PATH="$work/venv/bin:$PATH"
cat > CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.20)
project(two LANGUAGES NONE)
add_custom_command(OUTPUT first COMMAND sleep 0.3 COMMAND touch first)
add_custom_command(OUTPUT second COMMAND sleep 0.3 COMMAND touch second
                   DEPENDS first ${CMAKE_SOURCE_DIR}/source)
add_custom_target(everything ALL DEPENDS second)
CMAKE
touch source
cmake -G Ninja -S . -B build > /dev/null
ninja -C build > /dev/null
sleep 1
touch source
ninja -C build > /dev/null
echo "start, end and output of the commands, after two builds:"
grep -v '[#/]' build/.ninja_log | cut -f1,2,4 | tee before
cmake -S . -B build > /dev/null
echo "and after cmake:"
grep -v '[#/]' build/.ninja_log | cut -f1,2,4 | tee after
python - <<'PYTHON'
def rows(name):
    return [(int(a), int(b), c) for a, b, c in (line.split() for line in open(name))]


before, after = rows("before"), rows("after")
assert [row[2] for row in before] == ["first", "second", "second"]
assert before[2][1] < before[1][1], "the end falls where the second build begins"
(_, end, first), (start, _, second) = after
print(f"{second} begins at {start} ms, though it needs {first}, which ends at {end} ms")
assert (first, second) == ("first", "second") and start < end, "changed: the order is kept"
PYTHON
