#!/bin/sh
# Every shell script of ours passes shellcheck; one case per script.
find . \( -name .git -o -path ./build -o -path './build-*' \) -prune -o -type f -print | sort | while read -r file; do
    case $file in *.c | *.h | *.json | *.md | *.db) continue ;; esac
    head -n 1 "$file" | LC_ALL=C grep -aqE '^#!.*[/ ](sh|bash|dash)( |$)' || continue
    if shellcheck -x "$file"; then
        echo "ok shellcheck ${file#./}"
    else
        echo "FAIL shellcheck ${file#./}"
    fi
done
