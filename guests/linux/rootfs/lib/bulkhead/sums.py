#!/usr/bin/python3.11
"""Counts words and pairs of words in a file: many small objects, found by hash."""
import sys

counts = {}
before = ""
for line in open(sys.argv[1]):
    for word in line.split():
        for key in (word, before + " " + word):
            counts[key] = counts.get(key, 0) + 1
        before = word
for key in sorted(counts, key=lambda key: (-counts[key], key))[:10]:
    print(counts[key], key)
