#!/usr/bin/python3.11
"""Writes input for the programs that are measured; it is the same every time.

    generate.py text BYTES      about as many bytes of words, some more frequent than others
    generate.py video FRAMES    frames of 96 x 80 pixels, YUV 4:2:0, in which things move
"""
import sys


def random_numbers(state=1):
    """Upper bits of Knuth's 64-bit linear congruential generator."""
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
        yield state >> 32


def text(size):
    numbers = random_numbers()
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = []
    for number in numbers:
        word = "".join(letters[(number >> 3 * i & 15) + (number >> 2 * i & 7)] for i in range(3 + number % 9))
        words.append(word + (".\n" if number % 11 == 0 else " "))
        if len(words) == 2048:
            break
    written = []
    for number in numbers:
        # Three words for a number. The product of two numbers makes some words more frequent.
        a, b, c = number & 2047, number >> 11 & 2047, number >> 21
        written += words[a * b >> 11], words[b * c >> 11], words[c]
        size -= 24
        if size < 0:
            break
    sys.stdout.write("".join(written))


def video(frames):
    for frame in range(frames):
        luma = bytearray((3 * x + 2 * y + 5 * frame ^ x * y >> 4) & 255 for y in range(80) for x in range(96))
        for y in range(20, 50):
            start = y * 96 + 20 + 4 * frame
            luma[start : start + 30] = bytes((220 - y,)) * 30
        chroma = bytes((128 + (x + frame & 31)) for _ in range(40) for x in range(48))
        sys.stdout.buffer.write(luma + chroma + chroma)


{"text": text, "video": video}[sys.argv[1]](int(sys.argv[2]))
