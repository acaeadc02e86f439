#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first process of a guest, run by busybox from its initramfs: it loads the modules, takes the host's root file system
# read-only with a layer of memory above it, and hands over to guest_inside.py there.
export PATH=/bin
fail() {
  echo "guest: $*"
  poweroff -f
}
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in /modules/*; do insmod "$module" || fail "the module $module cannot be loaded"; done
mkdir /host /layer
mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose host /host || fail "the host's files cannot be mounted"
mount -t tmpfs -o size=75% layer /layer
mkdir /layer/upper /layer/work
mount -t overlay -o lowerdir=/host,upperdir=/layer/upper,workdir=/layer/work root /root || fail "no layer above the host's files"
for folder in proc sys dev run; do mkdir -p "/root/$folder"; done
for folder in proc sys dev; do mount --move "/$folder" "/root/$folder"; done
mount -t tmpfs -o mode=755 run /root/run
mkdir /root/run/guest
cp /inside.py /order.json /root/run/guest
exec switch_root /root /usr/bin/env PATH=/usr/bin:/bin python3 -I -B /run/guest/inside.py
