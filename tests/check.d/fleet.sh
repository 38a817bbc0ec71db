#!/bin/sh
# The supervisor's promises: ready means ready, a killed service comes back, nothing is left behind.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$(cd "${KC_BUILD:-$root/build}/bin" && pwd)
home=$(mktemp -d)
export KC_RUN="$home/run" KC_DATA="$home/data" KC_CACHE="$home/cache"
fleet="$root/deploy/fleet"
# shellcheck disable=SC2317 # called by the trap
cleanup() {
    "$fleet" down --bin "$bin" >/dev/null 2>&1
    rm -rf "$home"
}
trap cleanup EXIT

ok() { # NAME command... : runs it
    name=$1
    shift
    if "$@" >"$home/out" 2>&1; then
        echo "ok fleet-$name"
    else
        echo "FAIL fleet-$name"
        cat "$home/out"
    fi
}
nothing_left() {
    ! pgrep -f "run $KC_RUN" && flock -w 10 "$KC_RUN/fleet.lock" true
}
killed_broker_comes_back() {
    kill -9 "$(cat "$KC_RUN/pid.broker-1")" && "$bin/kclaw" status --timeout 20
}
killed_supervisor_leaves_nothing() {
    kill -9 "$(cat "$KC_RUN/fleet.pid")" && flock -w 20 "$KC_RUN/fleet.lock" true && nothing_left
}
second_fleet_is_refused() {
    ! "$fleet" up --bin "$bin" --backend vgpu
}
broken_service_is_told() {
    printf 'broker 1 first=yes -- kc-broker --no-such-option\n' >"$home/broken.conf"
    ! KC_FLEET_DEATHS=3 "$fleet" up --bin "$bin" --config "$home/broken.conf" 2>"$home/err" && grep -q no-such-option "$home/err"
}

ok up "$fleet" up --bin "$bin" --backend vgpu
ok doctor-finds-all "$bin/kclaw" doctor
ok second-refused second_fleet_is_refused
ok killed-broker-comes-back killed_broker_comes_back
ok down "$fleet" down --bin "$bin"
ok down-leaves-nothing nothing_left
ok up-again "$fleet" up --bin "$bin" --backend vgpu
ok killed-supervisor-leaves-nothing killed_supervisor_leaves_nothing
ok broken-service-is-told broken_service_is_told
