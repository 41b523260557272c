"""Decodes messages of Protocol Buffers without their definitions, and the attributes of OTLP."""

import struct


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data: bytes) -> dict[int, list]:
    """Decodes a message of Protocol Buffers into values by field number."""
    found: dict[int, list] = {}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = data[at : at + 8], at + 8
        else:
            assert key & 7 == 2
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
            assert len(value) == length
        found.setdefault(key >> 3, []).append(value)
    return found


def fixed(value: bytes) -> int:
    return struct.unpack("<Q", value)[0]


def double(value: bytes) -> float:
    return struct.unpack("<d", value)[0]


def attributes(pairs: list[bytes]) -> frozenset[tuple[str, str | int]]:
    read = []
    for pair in map(fields, pairs):
        value = fields(pair[2][0])
        read.append((pair[1][0].decode(), value[1][0].decode() if 1 in value else value[3][0]))
    assert len({name for name, _ in read}) == len(read)
    return frozenset(read)
