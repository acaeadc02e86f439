# SPDX-License-Identifier: Apache-2.0
"""What a guest boots: Debian's kernel, and an initramfs of busybox and the modules that it needs.

The kernel's package is downloaded and unpacked, not installed. Kept are the kernel and the initramfs, in a folder named
after the package; what else was unpacked is removed.
"""

import gzip
import lzma
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from place import LabError, command

META_PACKAGE = "linux-image-amd64"
# Each brings what it depends on. crc32_generic: rxe asks for it by name, a dependency that modprobe does not know.
MODULES = ("virtio_pci", "virtio_console", "virtio_rng", "9pnet_virtio", "9p", "overlay", "ib_uverbs", "ib_umad",
           "rdma_ucm", "crc32_generic", "rdma_rxe", "veth", "bridge", "sch_netem")
APPLETS = ("sh", "cp", "echo", "insmod", "mkdir", "mount", "poweroff", "switch_root")
BUSYBOX = "/bin/busybox"
MODPROBE = "/sbin/modprobe"
DEPMOD = "/sbin/depmod"


class Image:
    def __init__(self, folder):
        self.kernel = folder / "vmlinuz"
        self.initramfs = folder / "initramfs.gz"


def kernel_package():
    """The package with the kernel that Debian's meta package stands for."""
    for line in command("apt-cache", "depends", META_PACKAGE, may_fail=True).stdout.splitlines():
        kind, _, name = line.strip().partition(": ")
        if kind == "Depends" and name.startswith("linux-image-"):
            return name
    raise LabError(f"apt knows no package {META_PACKAGE}: the guest boots a Debian's kernel for amd64")


def image(kept):
    """The image in the folder `kept`, made where there is none."""
    made = sorted(kept.glob("linux-image-*"))
    if made:
        return Image(made[-1])
    name = kernel_package()
    make(kept, name, kept / name)
    return Image(kept / name)


def make(kept, name, folder):
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="unpacked-", dir=kept) as work:
        work = Path(work)
        unpacked = unpack(name, work)
        draft = work / "image"
        draft.mkdir()
        version = next((unpacked / "boot").glob("vmlinuz-*")).name.removeprefix("vmlinuz-")
        shutil.copy(unpacked / "boot" / f"vmlinuz-{version}", draft / "vmlinuz")
        (draft / "initramfs.gz").write_bytes(gzip.compress(initramfs(unpacked, version), 1))
        try:
            draft.rename(folder)
        except OSError:
            if not folder.exists():  # another run was quicker
                raise


def unpack(name, work):
    done = subprocess.run(["apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", name], cwd=work,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    packages = list(work.glob("*.deb"))
    if done.returncode or not packages:
        reason = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise LabError(f"the package {name} cannot be downloaded: {reason[-1] if reason else 'apt-get does not say why'}")
    command("dpkg-deb", "--extract", str(packages[0]), str(work / "root"))
    return work / "root"


def modules_of(unpacked, version):
    """Files of the modules, each after those that it needs."""
    root = unpacked
    if not (root / "lib/modules").exists():  # later Debians: /usr/lib only
        root = unpacked / "usr"
    command(DEPMOD, "-b", str(root), version)
    files = []
    for module in MODULES:
        listing = command(MODPROBE, "-d", str(root), "-S", version, "--show-depends", module).stdout
        for line in listing.splitlines():
            words = line.split()
            if words[0] == "insmod" and words[1] not in files:
                files.append(words[1])
    return [Path(file) for file in files]


def plain(file):
    """A module's content, unpacked."""
    content = file.read_bytes()
    return lzma.decompress(content) if file.suffix == ".xz" else content


def initramfs(unpacked, version):
    entries = [folder(name) for name in ("bin", "dev", "modules", "proc", "root", "sys")]
    entries.append(file("bin/busybox", Path(BUSYBOX).read_bytes(), 0o755))
    entries += [link(f"bin/{applet}", "busybox") for applet in APPLETS]
    for number, module in enumerate(modules_of(unpacked, version)):
        entries.append(file(f"modules/{number:02}-{module.name.removesuffix('.xz')}", plain(module)))
    return archive(entries)


# An initramfs is a cpio archive of the kind newc: for each file a head of numbers in hexadecimal, its name and its content.


def folder(name):
    return name, stat.S_IFDIR | 0o755, b""


def file(name, content, permissions=0o644):
    return name, stat.S_IFREG | permissions, content


def link(name, target):
    return name, stat.S_IFLNK | 0o777, target.encode()


def archive(entries):
    return b"".join(entry(number, *one) for number, one in enumerate([*entries, ("TRAILER!!!", 0, b"")], 1))


def entry(number, name, mode, content):
    name = name.encode() + b"\0"
    numbers = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
    head = b"070701" + b"".join(b"%08x" % value for value in numbers)
    return padded(head + name) + padded(content)


def padded(part):
    return part + bytes(-len(part) % 4)
