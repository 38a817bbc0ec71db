"""Turns what kclaw said about the examples into one JSON document; called by tests/gpu/run."""
import datetime
import json
import math
import os
import statistics
import sys

home, names = os.environ["KC_HOME"], os.environ["KC_NAMES"].split()
tasks, device = [], {}
for name in names:
    try:
        result = json.load(open(f"{home}/{name}.result"))
        steps = [json.loads(line) for line in open(f"{home}/{name}.history")]
    except (OSError, ValueError) as error:
        tasks.append({"name": name, "verdict": "NO_RESULT", "error": str(error)})
        continue
    row, best = result["row"], result["row"].get("best", {})
    final = [s["doc"]["verdict"] for s in steps if s["step"] == "evaluate" and "verdict" in s["doc"]]
    last = final[-1] if final else {}
    # Without the time that a request waited for the GPU while other tasks used it.
    seconds = [v["seconds"]["total"] - v["seconds"].get("queue", 0) for v in final if "seconds" in v and not v.get("cached")]
    device = last.get("device") or (result.get("card") or {}).get("device") or device
    ratio = next((r for r in last.get("ratios", []) if r["over"] == "baseline"), {})
    tasks.append({
        "name": name, "state": row["state"], "verdict": last.get("status", "NO_VERDICT"), "labels": last.get("labels", []),
        "dims": {d["name"]: d["value"] for d in (result.get("card") or {}).get("dims", [])},
        "rounds": row.get("round", 0), "candidates": sum("candidate" in s["doc"] for s in steps),
        "failed_candidates": sum(v.get("status") != "OK" for v in final),
        "speedup_over_seed": best.get("speedup"), "speedup_over_unfused": best.get("speedup"),
        "interval": [ratio.get("lo"), ratio.get("hi")],
        "median_us": best.get("median_us"), "floor_us": (result.get("card") or {}).get("floor", {}).get("us"),
        "floor_share": best.get("floor_share"), "estimate": best.get("estimate", False),
        "median_seconds_to_verdict": statistics.median(seconds) if seconds else None,
        "constants": {c["name"]: c["value"] for s in steps if s["round"] == best.get("round")
                      for c in s["doc"].get("candidate", {}).get("program", {}).get("constants", [])},
        "switches": next((s["doc"]["candidate"]["program"].get("compile", {}) for s in steps
                          if s["round"] == best.get("round") and "candidate" in s["doc"]), {}),
    })
good = [t["speedup_over_seed"] for t in tasks if t.get("verdict") == "OK" and t.get("speedup_over_seed")]
document = {
    "geometric_mean_speedup_over_seed": math.exp(sum(map(math.log, good)) / len(good)) if good else None,
    "ok": sum(t.get("verdict") == "OK" for t in tasks), "failed": sum(t.get("verdict") != "OK" for t in tasks),
    "baseline": "the given kernel (the seed), measured interleaved in the same process",
    "gpu": device.get("gpu"), "driver": device.get("driver"), "compiler": device.get("compiler"), "backend": device.get("backend"),
    "date": datetime.date.today().isoformat(), "commit": os.environ["KC_COMMIT"], "command": os.environ["KC_COMMAND"],
    "tasks": tasks,
}
os.makedirs(os.path.dirname(os.path.abspath(os.environ["KC_OUT"])), exist_ok=True)
with open(os.environ["KC_OUT"], "w") as out:
    json.dump(document, out, indent=1)
    out.write("\n")
for t in tasks:
    print(f"{t['name']:12} {t['verdict']:14} {t.get('speedup_over_seed') or 0:8.2f}x  floor {100 * (t.get('floor_share') or 0):5.1f} %")
print(f"geometric_mean={document['geometric_mean_speedup_over_seed']} ok={document['ok']} failed={document['failed']}")
sys.exit(0 if document["failed"] == 0 and tasks else 1)
