"""Agent overhead per round from a task's history: wall time of its steps less what compilers and runners used."""
import datetime
import json
import sys

steps = [json.loads(line) for line in open(sys.argv[1])]


def at(step):
    return datetime.datetime.fromisoformat(step["at"].replace("Z", "+00:00")).timestamp()


def worked(doc):
    """Seconds in compilers and runners, as the daemons that started them say."""
    seconds = doc.get("verdict", {}).get("seconds", {})
    used = sum(seconds.get(k, 0) for k in ("compile", "check", "time")) if not doc.get("verdict", {}).get("cached") else 0
    return used + doc.get("evidence", {}).get("seconds", 0)


rounds = sorted({s["round"] for s in steps})
ends = {r: max(at(s) for s in steps if s["round"] == r) for r in rounds}
overheads = []
for r in rounds[1:]:
    if r - 1 not in ends:
        continue
    wall = ends[r] - ends[r - 1]
    used = sum(worked(s["doc"]) for s in steps if s["round"] == r)
    overheads.append(1000 * (wall - used))
    print(f"round {r}: wall {1000 * wall:.1f} ms, compiled and run {1000 * used:.1f} ms")
overheads.sort()
middle = overheads[len(overheads) // 2]
print(f"overhead_ms_per_round={middle:.1f} worst_ms={overheads[-1]:.1f} rounds={len(overheads)} "
      f"seconds={at(steps[-1]) - at(steps[0]):.1f}")
