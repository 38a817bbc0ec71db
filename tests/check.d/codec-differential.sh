#!/bin/sh
# The codec and python3-jsonschema give the same verdict on random documents of every schema.
# KC_SEED repeats a run, KC_DOCUMENTS asks for more.
verdict=${KC_BUILD:-build}/tests/kc-codec-verdict
name="codec-differential"
if ! /usr/bin/python3 -c 'import jsonschema' 2>/dev/null; then
    echo "skip $name: python3-jsonschema is not installed"
elif [ ! -x "$verdict" ]; then
    echo "FAIL $name: $verdict is not built"
elif /usr/bin/python3 tests/unit/msg/codec_differential.py "$verdict" "${KC_DOCUMENTS:-2400}" "${KC_SEED:-}"; then
    echo "ok $name"
else
    echo "FAIL $name"
fi
