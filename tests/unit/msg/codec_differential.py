"""codec_differential.py VERDICT_PROGRAM DOCUMENTS [SEED]: the codec against python3-jsonschema.

Documents come from two sides: made by the codec's own tables, and made here from the schema files. Most are
then changed in one place. Both validators must agree on each; where the codec is narrower by design
(kc_codec.h lists it) the same rule is added here. Each type is also judged by the schema that the codec
prints for it.
"""
import copy
import json
import math
import pathlib
import random
import re
import subprocess
import sys

import jsonschema
from jsonschema import Draft202012Validator, RefResolver, validators

program, wanted = sys.argv[1], int(sys.argv[2])
seed = int(sys.argv[3]) if len(sys.argv) > 3 and sys.argv[3] else random.SystemRandom().randrange(10**9)
rng = random.Random(seed)
print(f"seed {seed}")

# ---- the other validator, made as narrow as the codec ----

KINDS = {
    "name": re.compile(r"[A-Za-z_][A-Za-z0-9_]*"),
    "sha256": re.compile(r"[0-9a-f]{64}"),
    "id": re.compile(r"[A-Za-z0-9._:@/+-]+"),
    "expr": re.compile(r".*", re.S),
}


def kind_of_text(validator, kind, instance, schema):
    if isinstance(instance, str) and not KINDS[kind].fullmatch(instance):
        yield jsonschema.ValidationError(f"not {kind}")


def is_integer(checker, instance):
    whole = isinstance(instance, (int, float)) and not isinstance(instance, bool)
    return whole and math.isfinite(instance) and instance == int(instance) and -(2**63) <= instance < 2**63


def no_wide_integers(instance):
    if isinstance(instance, dict):
        return all(no_wide_integers(v) for v in instance.values())
    if isinstance(instance, list):
        return all(no_wide_integers(v) for v in instance)
    return not isinstance(instance, int) or -(2**63) <= instance < 2**63


Narrow = validators.extend(
    Draft202012Validator,
    {"x-kc-kind": kind_of_text},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", is_integer),
)
files = {p.name: json.loads(p.read_text()) for p in sorted(pathlib.Path("schemas").glob("*.schema.json"))}
bundles = {}
for line in subprocess.run([program, "schemas"], check=True, capture_output=True, text=True).stdout.splitlines():
    name, schema = line.split("\t", 1)
    bundles[name] = json.loads(schema)
    Draft202012Validator.check_schema(bundles[name])
    assert "$schema" in bundles[name], name
# With "$schema" in sight jsonschema would take its own class for it and forget the narrower rules.
for schema in [*files.values(), *bundles.values()]:
    schema.pop("$schema")
# A definition that is a scalar or an array has no type of its own; nor has an enum a document of its own.
types = {}
for file, schema in files.items():
    Draft202012Validator.check_schema(schema)
    stem = file.split(".")[0]
    if "type" in schema:
        types[stem] = {"$ref": file}
    for name, definition in schema.get("$defs", {}).items():
        if definition.get("type") == "object" or "oneOf" in definition:
            types[f"{stem}.{name}"] = {"$ref": f"{file}#/$defs/{name}"}


def validator_of(schema):
    return Narrow(schema, resolver=RefResolver("", schema, store=files))


judges = {name: validator_of(schema) for name, schema in types.items()}
bundled = {name: validator_of(bundles[name]) for name in types}

# ---- documents from the schema files ----


def resolve(schema, file):
    while "$ref" in schema:
        target, _, path = schema["$ref"].partition("#")
        file = target or file
        schema = files[file]
        for part in path.split("/")[1:]:
            schema = schema[part]
    return schema, file


ALPHABET = ["a", "Z", "_", "0", " ", '"', "\\", "\n", "é", "€", "😀", "\x7f", "\x01"]


def text(schema):
    kind = schema.get("x-kc-kind")
    if kind == "sha256":
        return "".join(rng.choice("0123456789abcdef") for _ in range(rng.choice([64, 64, 64, 64, 63])))
    low, high = schema.get("minLength", 0), min(schema.get("maxLength", 64), 300)
    size = rng.choice([low, low + 1, high, rng.randint(low, high), rng.randint(low, min(high, low + 8))])
    alphabet = "aZ_09"[: 5 if rng.random() < 0.9 else 1] if kind == "name" else "aZ_09.:-" if kind == "id" else ALPHABET
    out = "".join(rng.choice(alphabet) for _ in range(min(size, high)))
    return "x" + out[1:] if kind == "name" and out and rng.random() < 0.9 else out


def number(schema, whole):
    low, high = schema.get("minimum", -1000), schema.get("maximum", 2**40)
    high = max(low, high)
    value = rng.choice([low, high, rng.randint(math.ceil(low), max(math.ceil(low), math.floor(high)))])
    if not whole and rng.random() < 0.5:
        value = low + (high - low) * rng.random()
    return float(value) if whole and rng.random() < 0.1 else value


def make(schema, file, depth=0):
    schema, file = resolve(schema, file)
    if "oneOf" in schema:
        return make(rng.choice(schema["oneOf"]), file, depth)
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    kind = schema["type"]
    if isinstance(kind, list):
        kind = rng.choice(kind)
    if kind == "object":
        required = schema.get("required", [])
        keys = [k for k in schema.get("properties", {}) if k in required or rng.random() < (0.5 if depth < 2 else 0.15)]
        return {k: make(schema["properties"][k], file, depth + 1) for k in keys}
    if kind == "array":
        low, high = schema.get("minItems", 0), schema["maxItems"]
        size = low if rng.random() < 0.3 else rng.randint(low, min(high, low + 2))
        return [make(schema["items"], file, depth + 1) for _ in range(size)]
    if kind == "string":
        return text(schema)
    if kind in ("integer", "number"):
        return number(schema, kind == "integer")
    return None if kind == "null" else rng.random() < 0.5


# ---- changes ----

ODD = [None, True, False, 0, 1, -1, 3.0, 3.5, 1e19, -1e300, 2**63 - 1, 2**63, -(2**63) - 1, "", "x", "9a", "é" * 70, [], {}, [1], {"op": "fill"}]


def places(value, where=()):
    yield where
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
    for key, child in items:
        yield from places(child, where + (key,))


def change(document):
    document = copy.deepcopy(document)
    where = rng.choice(list(places(document)))
    parent = None
    value = document
    for key in where:
        parent, value = value, value[key]
    action = rng.randrange(6)
    if isinstance(value, dict) and action == 0:
        value[rng.choice(["new", "op", "name", "x"])] = rng.choice(ODD)
    elif isinstance(value, dict) and value and action == 1:
        del value[rng.choice(list(value))]
    elif isinstance(value, list) and action in (0, 1):
        if value and rng.random() < 0.5:
            value.extend(copy.deepcopy(value) * rng.choice([1, 5, 70]))
            del value[600:]
        else:
            del value[:1]
    elif parent is not None:
        new = rng.choice(ODD)
        if isinstance(value, str) and action == 2:
            new = value + rng.choice(["", "x", " ", "x" * 70, "é" * 300])
        elif isinstance(value, str) and action == 3:
            new = value[:-1]
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and action in (2, 3):
            new = value + rng.choice([-1, 1, 0.5, 0.0])
        parent[where[-1]] = new
    else:
        document = rng.choice(ODD)
    return document


def spoil(line):
    """A change of the bytes that makes them no JSON, or not the codec's JSON."""
    action = rng.randrange(3)
    if action == 0:
        return line[: rng.randrange(len(line))]
    if action == 1:
        return line + rng.choice(["x", "}", ",", "1"])
    return '{"name":1,"name":1,' + line[1:] if line.startswith("{") and len(line) > 2 else line + "]"


# ---- the comparison ----

made = subprocess.run([program, "make", str(seed), str(wanted // 3)], check=True, capture_output=True, text=True).stdout
documents = []  # (type, text, expected or None)
for line in made.split("\n")[:-1]:
    name, body = line.split("\t", 1)
    if name not in types:  # an object inside another definition
        continue
    documents.append((name, body, True))
names = list(types)
while len(documents) < wanted:
    name = names[len(documents) % len(names)]
    document = make(types[name], None)
    for _ in range(rng.choice([0, 0, 1, 1, 1, 2])):
        document = change(document)
    body = json.dumps(document, ensure_ascii=rng.random() < 0.5)
    documents.append((name, body, None) if rng.random() < 0.95 else (name, spoil(body), False))
for name, body, expected in list(documents):
    if expected and rng.random() < 0.4:
        documents.append((name, json.dumps(change(json.loads(body))), None))

asked = "".join(f"{name}\t{body}\n" for name, body, _ in documents)
run = subprocess.run([program, "check"], input=asked.encode("utf-8", "replace"), check=True, capture_output=True)
answers = run.stdout.decode().split("\n")[:-1]
assert len(answers) == len(documents), (len(answers), len(documents))
good = wrong = 0
for i, ((name, body, expected), answer) in enumerate(zip(documents, answers)):
    ours = answer == "ok"
    if expected is not False:
        document = json.loads(body)
        theirs = no_wide_integers(document) and judges[name].is_valid(document)
        if i % 4 == 0 and (no_wide_integers(document) and bundled[name].is_valid(document)) != theirs:
            print(f"the printed schema of {name} differs from its file on {body[:600]}")
            wrong += 1
        if expected and not theirs:
            print(f"the tables made an invalid {name}: {body[:600]}")
            wrong += 1
    else:
        theirs = False
    good += theirs
    if ours != theirs:
        wrong += 1
        print(f"{name}: the codec says {answer}, jsonschema says {'ok' if theirs else 'bad'}: {body[:600]}")
print(f"{len(documents)} documents of {len(types)} types, {good} valid, {wrong} differences")
sys.exit(wrong > 0 or good < len(documents) // 10 or good > len(documents) * 9 // 10)
