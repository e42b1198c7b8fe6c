#!/usr/bin/python3.11
"""Writes input for the programs that are measured; it is the same every time.

    generate.py text BYTES      words, some more frequent than others
    generate.py video FRAMES    frames of 176 x 144 pixels, YUV 4:2:0, in which things move
"""
import sys


def random_numbers(state=1):
    """Upper bits of Knuth's 64-bit linear congruential generator."""
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
        yield state >> 33


def text(size):
    numbers = random_numbers()
    letters = "etaoinshrdlucmfwypvbgkjqxz"

    def below(limit):
        # The product of two makes small results more frequent.
        return (next(numbers) % limit) * (next(numbers) % limit) // limit

    words = ["".join(letters[below(26)] for _ in range(2 + below(10))) for _ in range(3000)]
    written = 0
    while written < size:
        line = " ".join(words[below(3000)] for _ in range(12)) + ".\n"
        sys.stdout.write(line[: size - written])
        written += len(line)


def video(frames):
    for frame in range(frames):
        luma = bytearray((3 * x + 2 * y + 5 * frame ^ x * y >> 4) & 255 for y in range(144) for x in range(176))
        for y in range(40, 80):
            start = y * 176 + 30 + 4 * frame
            luma[start : start + 40] = bytes((220 - y,)) * 40
        chroma = bytes((128 + (x + frame & 31)) for _ in range(72) for x in range(88))
        sys.stdout.buffer.write(luma + chroma + chroma)


{"text": text, "video": video}[sys.argv[1]](int(sys.argv[2]))
