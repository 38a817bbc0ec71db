"""Kills daemons of a running fleet, and runners at work, with SIGKILL at random and proves that nothing was lost.

The oracle: the task ends as done with a verdict OK; every step that an observer saw acknowledged is there at the
end, unchanged; no (round, lane, step) is there twice; step numbers grow; the last round ended with a measurement.

    chaos.py --bin DIR [--kills N] [--seed S] [--seconds LIMIT]
"""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SERVICES = ["broker", "memory", "planner", "coder", "repair", "evaluator", "profiler"]
RUNNER_WAIT = 3.0  # seconds for a runner to appear


class Failure(Exception):
    pass


def kclaw(args, env, bin_dir, timeout=60):
    done = subprocess.run([f"{bin_dir}/kclaw", *args], env=env, capture_output=True, text=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


def history(task, env, bin_dir):
    code, out, err = kclaw(["result", task, "--history", "--json"], env, bin_dir)
    if not out and err:
        return None  # the broker or the memory service was just killed: ask again later
    return [json.loads(line) for line in out.splitlines()]


def key(step):
    return step["round"], step["lane"], step["step"]


def check_seen(seen, now):
    found = {key(s): s for s in now}
    if len(found) != len(now):
        raise Failure("a step is there twice")
    for k, step in seen.items():
        if k not in found:
            raise Failure(f"step {k} was there and is gone")
        if found[k]["doc"] != step["doc"]:
            raise Failure(f"step {k} changed after it was stored")
    if [s["seq"] for s in now] != sorted(s["seq"] for s in now):
        raise Failure("step numbers do not grow")
    seen.update(found)


def state_of(task, env, bin_dir):
    _, out, _ = kclaw(["status", task, "--json"], env, bin_dir)
    return json.loads(out)["state"] if out else "unknown"


def kill_runner(run):
    """SIGKILL to a process that compiles or runs a candidate for the evaluator or the profiler."""
    deadline = time.monotonic() + RUNNER_WAIT
    while time.monotonic() < deadline:
        for service in ("evaluator", "profiler"):
            try:
                with open(f"{run}/pid.{service}-1") as f:
                    parent = f.read().strip()
                with open(f"/proc/{parent}/task/{parent}/children") as f:
                    children = f.read().split()
                if children:
                    os.kill(int(children[0]), signal.SIGKILL)
                    return True
            except (OSError, ValueError):
                pass
        time.sleep(0.005)
    return False


def kill_one(run, service):
    """SIGKILL to one instance; a service that is being restarted has no process now and is skipped."""
    if service == "runner":
        return kill_runner(run)
    try:
        with open(f"{run}/pid.{service}-1") as f:
            pid = int(f.read())
        os.kill(pid, signal.SIGKILL)
        return True
    except (OSError, ValueError):
        return False


def play(args, env, run):
    rng = random.Random(args.seed)
    # Every daemon at least once, then at random.
    victims = SERVICES + ["runner"]
    order = victims[:]
    rng.shuffle(order)
    order += [rng.choice(victims) for _ in range(max(0, args.kills - len(order)))]
    code, out, err = kclaw(["submit", f"{ROOT}/deploy/examples/matmul.cu", "-q", "--rounds", str(args.rounds), "--set", "M=64",
                            "--set", "N=64", "--set", "K=64"], env, args.bin)
    if code != 0:
        raise Failure(f"submit failed: {err}")
    task, seen, killed = out.strip(), {}, []
    deadline = time.monotonic() + args.seconds
    last_start = None
    for service in order:
        time.sleep(rng.uniform(0.1, args.gap))  # the random point of the kill
        if kill_one(run, service):
            killed.append(service)
        now = history(task, env, args.bin)
        if now is not None:
            check_seen(seen, now)
        if state_of(task, env, args.bin) in ("done", "failed"):
            # Done early: the rest of the kills falls on a new task, so that all of them hit running work.
            last_start = task
            code, out, err = kclaw(["submit", f"{ROOT}/deploy/examples/transpose.cu", "-q", "--rounds", "8", "--set", "M=128",
                                    "--set", "N=128"], env, args.bin)
            if code == 0:
                check_end(task, env, args, seen)
                task, seen = out.strip(), {}
    while state_of(task, env, args.bin) not in ("done", "failed", "cancelled"):
        if time.monotonic() > deadline:
            raise Failure(f"task {task} did not end in {args.seconds} s; killed {killed}")
        left = max(1, int(deadline - time.monotonic()))
        kclaw(["watch", task, "-q", "--timeout", str(min(left, 30))], env, args.bin, timeout=left + 30)
    check_end(task, env, args, seen)
    return killed, last_start


def check_end(task, env, args, seen):
    for _ in range(20):
        now = history(task, env, args.bin)
        if now is not None:
            break
        time.sleep(0.5)  # the broker was killed a moment ago; kclaw gave up on it
    else:
        raise Failure("the history cannot be read")
    check_seen(seen, now)
    if state_of(task, env, args.bin) != "done":
        raise Failure(f"task {task} ended as {state_of(task, env, args.bin)}: {now[-1]}")
    final = [s for s in now if s["step"] == "evaluate"][-1]
    if final["doc"].get("verdict", {}).get("status") != "OK":
        raise Failure(f"the final measurement said {final['doc']}")
    rounds = sorted({s["round"] for s in now})
    if rounds != list(range(rounds[-1] + 1)):
        raise Failure(f"rounds are missing: {rounds}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default=f"{ROOT}/build/bin")
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--gap", type=float, default=2.0, help="longest time between two kills, seconds")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--seconds", type=int, default=240)
    args = parser.parse_args()
    args.bin = os.path.abspath(args.bin)
    with tempfile.TemporaryDirectory() as home:
        run = f"{home}/run"
        env = dict(os.environ, KC_RUN=run, KC_DATA=f"{home}/data", KC_CACHE=f"{home}/cache", KC_FLEET_DEATHS="0")
        fleet = f"{ROOT}/deploy/fleet"
        subprocess.run([fleet, "up", "--bin", args.bin, "--backend", "vgpu"], env=env, check=True, stdout=subprocess.DEVNULL)
        try:
            killed, _ = play(args, env, run)
            print(f"ok chaos-no-step-lost-or-doubled ({len(killed)} kills: {' '.join(killed)}; seed {args.seed})")
            code = 0
        except Failure as failure:
            print(f"FAIL chaos-no-step-lost-or-doubled: {failure}; seed {args.seed}")
            subprocess.run([fleet, "logs", "--bin", args.bin, "planner", "memory"], env=env, check=False)
            code = 1
        finally:
            subprocess.run([fleet, "down", "--bin", args.bin], env=env, check=False, stdout=subprocess.DEVNULL)
        left = subprocess.run(["pgrep", "-f", f"--run {run}"], capture_output=True, text=True, check=False).stdout.split()
        print("ok chaos-nothing-left-behind" if not left else f"FAIL chaos-nothing-left-behind: {left}")
        sys.exit(code or bool(left))


main()
