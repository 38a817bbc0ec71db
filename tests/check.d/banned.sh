#!/bin/sh
# No C file of ours calls a banned function; one case per function. Comments and strings do not count.
exec /usr/bin/python3 - <<'PY'
import pathlib
import re

BANNED = """sprintf vsprintf strcpy strcat strtok gets atoi atol rand localtime gmtime strerror system
popen alloca fork vfork sleep usleep""".split()
ROOMS = "schemas common broker memory agents client tests".split()
NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

found = {name: [] for name in BANNED}
# A call, not a member of a struct that has the same name.
call = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
for room in ROOMS:
    for path in sorted(pathlib.Path(room).rglob("*.[ch]")):
        text = path.read_text(errors="replace")
        text = NOISE.sub(lambda m: "\n" * m[0].count("\n") or " ", text)
        for m in call.finditer(text):
            found[m[1]].append(f"{path}:{text.count(chr(10), 0, m.start()) + 1}")
for name, places in found.items():
    print(("FAIL" if places else "ok") + f" banned {name}", *places)
PY
