#!/bin/sh
# Every counter of our table is known to CUPTI's host library on every chip, in few enough passes; needs no GPU.
# One case per chip; skipped where the library or its headers are not installed.
program=$KC_BUILD/bin/kc-cupti-names
if [ ! -x "$program" ]; then
    echo "skip cupti-names (built without NVIDIA's headers)"
    exit 0
fi
"$program" | while read -r word rest; do
    case $word in
    ok) echo "ok cupti-names $rest" ;;
    FAIL) echo "FAIL cupti-names $rest" ;;
    SKIP) echo "skip cupti-names ($rest)" ;;
    *) echo "$word $rest" ;;
    esac
done
