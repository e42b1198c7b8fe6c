#!/bin/sh
# Stands in for a QEMU that is too old.
echo "QEMU emulator version 7.2.17 (fake)"
