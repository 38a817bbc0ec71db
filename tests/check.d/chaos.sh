#!/bin/sh
# Kills each daemon at random points of running tasks; see tests/system/chaos.py.
set -u
exec /usr/bin/python3 "$(dirname "$0")/../system/chaos.py" --bin "${KC_BUILD:-build}/bin" --kills 12 --gap 2
