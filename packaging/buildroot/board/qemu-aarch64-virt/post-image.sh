#!/bin/sh
# Packs hypervisor, plan and guests as one image, bulkhead.img. Buildroot runs this script after it made its images, with
# their folder and the description of the system as arguments.
set -eu
images=$1
description=$2
bulkhead="$HOST_DIR/bin/bulkhead"

cp "$description" "$images/system.toml"
cp "$HOST_DIR/lib/bulkhead/build/guests/rt-demo.bin" "$images"
cd "$images"
# This fails if a deadline can be missed.
"$bulkhead" plan system.toml -o system.plan.dts
"$bulkhead" run system.plan.dts --image-only bulkhead.img
