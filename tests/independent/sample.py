"""Made-up training data that any language can make again from (seed, row, column): the tests compare what comes out of
Sideband with what this says went in. cpp_sender.cc holds the same formulas.
"""

import struct

MASK = (1 << 64) - 1
TEXT_EVERY_ROWS = 500

Value = float | int


def mix(seed: int, row: int, column: int) -> int:
    """64 well-mixed bits: splitmix64 of the three numbers."""
    z = (seed * 0x9E3779B97F4A7C15 + row * 0xBF58476D1CE4E5B9 + column * 0x94D049BB133111EB) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def is_int(column: int) -> bool:
    """Every fourth column holds integers."""
    return column % 4 == 2


def key(column: int) -> str:
    return f"sample/{column:03d}" if column % 2 == 0 else f"sample/größe/{column:03d}"


def step(seed: int, row: int) -> int:
    """Even seeds count by tens; odd seeds jump about, also backwards and below zero."""
    if seed % 2 == 0:
        return row * 10
    return (mix(seed, row, 1_000_000) >> 40) - (1 << 23)


def value(seed: int, row: int, column: int) -> Value:
    """Columns by turns: float32-exact, any double, integer, float32-exact with NaN, infinities and -0.0 among them."""
    bits = mix(seed, row, column)
    if column % 4 == 1:
        return (bits >> 11) * 2.0**-53
    if is_int(column):
        return struct.unpack("<q", struct.pack("<Q", bits))[0]
    special = bits % 16
    if column % 4 == 3 and special < 4:
        return (float("nan"), float("inf"), float("-inf"), -0.0)[special]
    return (bits >> 48) / 256.0


def row_values(seed: int, row: int, keys: int) -> list[Value]:
    return [value(seed, row, column) for column in range(keys)]


def same(left: Value, right: Value) -> bool:
    """Equal bit for bit, so that NaN is itself and -0.0 is not 0.0; an integer never equals a float."""
    if isinstance(left, int) or isinstance(right, int):
        return type(left) is type(right) and left == right
    return struct.pack("<d", left) == struct.pack("<d", right)
