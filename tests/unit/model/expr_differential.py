"""A second implementation of the expression language, compared with ours line by line (see expr_cases.c)."""
import math
import re
import sys

TOKEN = re.compile(r"\s*(0[xX][0-9a-fA-F]+|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?|[A-Za-z_]\w*|//|<<|>>|==|!=|<=|>=|&&|\|\||[-+*/%<>!?:(),])")
NAMES = {"B": 4096, "D": 7, "big": 1 << 62, "neg": -3, "eps": 0.1, "yes": True, "true": True, "false": False}
LEVELS = [["||"], ["&&"], ["==", "!=", "<", "<=", ">", ">="], ["<<", ">>"], ["+", "-"], ["*", "/", "//", "%"]]


class Bad(Exception):
    pass


def is_int(x):
    return type(x) is int


def is_number(x):
    return type(x) in (int, float)


def need(good):
    if not good:
        raise Bad


def checked(x):
    if is_int(x):
        need(-(1 << 63) <= x < 1 << 63)
    elif type(x) is float:
        need(math.isfinite(x))
    return x


def real(x):
    need(is_number(x))
    return float(x)


class Parser:
    """Builds closures, so that branches not taken are not evaluated."""

    def __init__(self, text):
        self.tokens, at = [], 0
        while at < len(text.rstrip()):
            m = TOKEN.match(text, at)
            need(m)
            self.tokens.append(m[1])
            at = m.end()
        self.at = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self, token=None):
        t = self.peek()
        need(t is not None and (token is None or t == token))
        self.at += 1
        return t

    def whole(self):
        f = self.expr()
        need(self.peek() is None)
        return f

    def expr(self):
        cond = self.level(0)
        if self.peek() != "?":
            return cond
        self.take()
        yes = self.expr()
        self.take(":")
        no = self.expr()
        return lambda: (yes if boolean(cond()) else no)()

    def level(self, n):
        if n == len(LEVELS):
            return self.unary()
        a = self.level(n + 1)
        while self.peek() in LEVELS[n]:
            a = binary(self.take(), a, self.level(n + 1))
            if n == 2:
                break
        return a

    def unary(self):
        if self.peek() in ("-", "!"):
            op, a = self.take(), self.unary()
            return (lambda: checked(-numeric(a()))) if op == "-" else (lambda: not boolean(a()))
        return self.post()

    def post(self):
        t = self.take()
        if t == "(":
            f = self.expr()
            self.take(")")
            return f
        if t[0].isdigit() or t[0] == ".":
            v = int(t, 16) if t[:2] in ("0x", "0X") else float(t) if re.search(r"[.eE]", t) else int(t)
            checked(v)
            return lambda: v
        need(t[0].isalpha() or t[0] == "_")
        if self.peek() == "(":
            self.take()
            args = []
            while self.peek() != ")":
                args.append(self.expr())
                if self.peek() != ")":
                    self.take(",")
            self.take()
            return lambda: call(t, [a() for a in args])
        need(t in NAMES)
        return lambda: NAMES[t]


def boolean(x):
    need(type(x) is bool)
    return x


def numeric(x):
    need(is_number(x))
    return x


def binary(op, a, b):
    if op == "&&":
        return lambda: boolean(a()) and boolean(b())
    if op == "||":
        return lambda: boolean(a()) or boolean(b())
    return lambda: apply(op, a(), b())


def apply(op, x, y):
    if op in ("==", "!=", "<", "<=", ">", ">="):
        need((type(x) is bool) == (type(y) is bool))
        need(type(x) is not bool or op in ("==", "!="))
        if type(x) is not type(y):
            x, y = float(x), float(y)
        return {"==": x == y, "!=": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[op]
    numeric(x), numeric(y)
    ints = is_int(x) and is_int(y)
    if op in ("+", "-", "*"):
        if not ints:
            x, y = float(x), float(y)
        return checked(x + y if op == "+" else x - y if op == "-" else x * y)
    if op == "/" and not ints:
        need(y != 0)
        return checked(float(x) / float(y))
    need(ints)
    if op in ("<<", ">>"):
        need(0 <= y <= 62 and x >= 0)
        return checked(x << y) if op == "<<" else x >> y
    need(x >= 0 and y > 0)
    return x % y if op == "%" else x // y


def call(name, args):
    def count(least, most=None):
        need(least <= len(args) <= (most or least))

    if name in ("min", "max"):
        count(2, 8)
        [numeric(a) for a in args]
        pick = min if name == "min" else max
        return pick(args) if all(is_int(a) for a in args) else pick(float(a) for a in args)
    if name in ("cdiv", "align", "gcd"):
        count(2)
        a, b = args
        need(is_int(a) and is_int(b) and a >= 0 and (b > 0 or name == "gcd" and b == 0))
        return math.gcd(a, b) if name == "gcd" else checked(-(-a // b) * (b if name == "align" else 1))
    need(name in ("abs", "pow2_ceil", "log2_ceil", "is_pow2", "int", "float", "sqrt", "exp", "log", "div_magic", "div_shift"))
    count(1)
    a = args[0]
    if name == "int":
        return int(checked(int(a)))
    numeric(a)
    if name == "abs":
        return checked(abs(a))
    if name in ("float", "sqrt", "exp", "log"):
        try:
            return checked({"float": float, "sqrt": math.sqrt, "exp": math.exp, "log": math.log}[name](float(a)))
        except (ValueError, OverflowError) as e:
            raise Bad from e
    need(is_int(a))
    if name == "is_pow2":
        return a > 0 and bin(a).count("1") == 1
    if name in ("pow2_ceil", "log2_ceil"):
        need(1 <= a <= 1 << 62)
        return (a - 1).bit_length() if name == "log2_ceil" else 1 << (a - 1).bit_length()
    need(1 <= a < 1 << 32)
    s = (a - 1).bit_length()
    return s if name == "div_shift" else ((1 << s) - a) * (1 << 32) // a + 1


def evaluate(text):
    try:
        v = Parser(text).whole()()
    except (Bad, OverflowError):
        return "error"
    if type(v) is bool:
        return "bool " + ("true" if v else "false")
    return f"int {v}" if is_int(v) else ("real", v)


def same(ours, theirs):
    if not isinstance(theirs, tuple):
        return ours == theirs
    if not ours.startswith("real "):
        return False
    a, b = float.fromhex(ours[5:]), theirs[1]
    return a == b or abs(a - b) <= 1e-15 * abs(b)


def main():
    n, bad, errors = 0, 0, 0
    for line in sys.stdin:
        text, ours = line.rstrip("\n").split("\t")
        theirs = evaluate(text)
        n += 1
        errors += theirs == "error"
        if not same(ours, theirs):
            bad += 1
            if bad <= 10:
                print(f"{text}\n  ours: {ours}\n  python: {theirs}")
    print(f"{n} expressions, {errors} of them errors, {bad} differ")
    return 1 if bad or n < 100 or errors > 0.9 * n else 0


sys.exit(main())
