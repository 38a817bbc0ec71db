#!/bin/sh
# The expression language and a second implementation of it in Python agree on random expressions.
# KC_SEED repeats a run, KC_EXPRESSIONS asks for more.
cases=${KC_BUILD:-build}/tests/kc-expr-cases
seed=${KC_SEED:-$$}
name="expr-differential"
if [ ! -x "$cases" ]; then
    echo "FAIL $name: $cases is not built"
elif "$cases" "${KC_EXPRESSIONS:-20000}" "$seed" | /usr/bin/python3 tests/unit/model/expr_differential.py; then
    echo "ok $name seed $seed"
else
    echo "FAIL $name: repeat with KC_SEED=$seed"
fi
