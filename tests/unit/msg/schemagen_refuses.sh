#!/bin/sh
# schemagen_refuses.sh GENERATOR FOLDER: every schema of FOLDER (a file, or a folder of files) is refused,
# and the message is the one that its "$comment" promises.
set -u
generator=$1 folder=$2
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
count=0 failed=0
for case in "$folder"/*; do
    if [ -d "$case" ]; then
        set -- "$case"/*.schema.json
    else
        set -- "$case"
    fi
    expected=$(sed -n 's/.*comment": "refused: \(.*\)".*/\1/p' "$1" | sed 's/\\"/"/g')
    count=$((count + 1))
    if "$generator" "$out" gen kc_case "$@" >"$out/log" 2>&1; then
        echo "$case: accepted"
        failed=$((failed + 1))
    elif [ -z "$expected" ] || ! grep -qF -e "$expected" "$out/log"; then
        echo "$case: expected '$expected', found '$(cat "$out/log")'"
        failed=$((failed + 1))
    fi
done
echo "$count schemas, $failed wrong"
[ "$failed" -eq 0 ] && [ "$count" -ge 30 ]
