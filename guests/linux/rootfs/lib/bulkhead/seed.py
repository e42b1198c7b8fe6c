#!/usr/bin/python3.11
"""Gives the kernel something that it takes for random: the same every time."""
import fcntl
import struct

RNDADDENTROPY = 0x40085203
BYTES = 64

with open("/dev/random", "wb") as device:
    fcntl.ioctl(device, RNDADDENTROPY, struct.pack("ii", 8 * BYTES, BYTES) + bytes(range(BYTES)))
