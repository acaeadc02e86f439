#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An installed prefix, moved once: the README's first program and an ARMCI program, by each way to link that the docs name.

Takes from the environment: GRAPNEL_BUILD, GRAPNEL_SOURCE and, for ARMCI, GRAPNEL_MPI and GRAPNEL_MPI_LAUNCHER.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
import skips  # noqa: E402

BUILD, SOURCE = Path(os.environ["GRAPNEL_BUILD"]), Path(os.environ["GRAPNEL_SOURCE"])
MPI, LAUNCHER = os.environ.get("GRAPNEL_MPI"), os.environ.get("GRAPNEL_MPI_LAUNCHER")

CMAKE_PROJECT = """cmake_minimum_required(VERSION 3.25)
project(consumer CXX)
find_package(grapnel REQUIRED)
add_executable(first first.cpp)
target_link_libraries(first PRIVATE grapnel::grapnel)
"""

CMAKE_PROJECT_TMK = """cmake_minimum_required(VERSION 3.25)
project(consumer C)
find_package(grapnel REQUIRED)
add_executable(sum sum.c)
target_link_libraries(sum PRIVATE grapnel::tmk)
"""


def output_of(command, folder, **variables):
    """What a command line of the shell prints. Anything but exit code 0 is an error that shows it."""
    done = subprocess.run(
        ["bash", "-euc", command], cwd=folder, env=dict(os.environ, **variables), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise AssertionError(f"{command}\nexit code {done.returncode}\n{done.stdout}")
    return done.stdout


def received(ranks):
    return sorted(f"rank {me} received {100 + (me - 1) % ranks}" for me in range(ranks))


def indented_block(text, beginning):
    """The lines of README's indented block that begins with `beginning`, without the indentation."""
    lines = text[text.index("    " + beginning) :].splitlines()
    end = next(i for i, line in enumerate(lines) if line and not line.startswith("    "))
    return "\n".join(line[4:] for line in lines[:end]) + "\n"


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="grapnel-install-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.prefix = cls.folder / "moved"
        output_of(f"cmake --install {BUILD} --prefix {cls.folder}/installed && mv installed moved", cls.folder)
        cls.readme = (SOURCE / "README.md").read_text()
        (cls.folder / "first.cpp").write_text(indented_block(cls.readme, "#include <cstdio>"))

    def run_first(self, program):
        printed = output_of(f"{self.prefix}/bin/grapnel run -n 4 --nodes 2 -- {program}", self.folder)
        self.assertEqual(sorted(printed.splitlines()), received(4))

    def needed(self, file):
        """The shared libraries that a file names, and where it looks for them."""
        shown = output_of(f"readelf -d {file}", self.folder)
        return re.findall(r"\(NEEDED\).*\[(.*)\]", shown), re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", shown)

    def test_the_first_program_by_the_commands_of_the_readme(self):
        commands = indented_block(self.readme, "g++ -std=c++20 first.cpp").replace("PREFIX", str(self.prefix))
        printed = output_of(commands.replace("\n    ", "\n"), self.folder)
        self.assertEqual(sorted(printed.splitlines()), received(4))

    def test_the_cmake_package(self):
        project = self.folder / "project"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(CMAKE_PROJECT)
        (project / "first.cpp").write_text((self.folder / "first.cpp").read_text())
        output_of(f"cmake -G Ninja -S . -B build -DCMAKE_PREFIX_PATH={self.prefix} && cmake --build build", project)
        self.run_first(project / "build/first")

    def test_a_program_of_tmk_by_each_way_to_link(self):
        project = self.folder / "tmk"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(CMAKE_PROJECT_TMK)
        page = (SOURCE / "docs/tmk.md").read_text()
        (project / "sum.c").write_text(re.search("```c\n(.*?)```", page, re.DOTALL)[1])
        package = f"PKG_CONFIG_PATH={self.prefix}/lib/pkgconfig pkg-config --cflags --libs grapnel-tmk"
        for command in (f"cc sum.c -o sum $({package}) -Wl,-rpath,{self.prefix}/lib",
                        f"cmake -G Ninja -S . -B build -DCMAKE_PREFIX_PATH={self.prefix} && cmake --build build"):
            with self.subTest(command):
                output_of(command, project)
                program = project / ("build/sum" if command.startswith("cmake") else "sum")
                printed = output_of(f"{self.prefix}/bin/grapnel run -n 4 --nodes 2 -- {program}", project)
                self.assertEqual(printed, "sum 10\n")

    @unittest.skipUnless(shutil.which("m4"), "m4 is not installed (./dev deps test)")
    def test_a_program_of_parmacs(self):
        package = f"PKG_CONFIG_PATH={self.prefix}/lib/pkgconfig pkg-config --cflags --libs grapnel-tmk"
        source = shlex.quote(str(SOURCE / "tests/api/tmk/splash.c.in"))
        output_of(f"m4 {self.prefix}/share/grapnel/parmacs.m4 {source} > splash.c && "
                  f"cc -fno-pie -no-pie splash.c -o splash $({package}) -Wl,-rpath,{self.prefix}/lib", self.folder)
        printed = output_of(f"{self.prefix}/bin/grapnel run -n 2 --nodes 2 -- ./splash 2", self.folder)
        # The ranks' lines come in any order.
        self.assertEqual(printed.splitlines().count("all ended"), 1, printed)

    def test_nothing_looks_into_the_build_tree(self):
        for file in [*self.prefix.glob("bin/*"), *self.prefix.glob("lib/*.so")]:
            for path in self.needed(file)[1]:
                self.assertNotIn(str(BUILD), path, file.name)
        for text in [*self.prefix.glob("lib/pkgconfig/*"), *self.prefix.glob("lib/cmake/*/*")]:
            self.assertNotIn(str(BUILD), text.read_text(), text.name)

    @unittest.skipUnless(MPI, "this build has no ARMCI")
    def test_an_armci_program_by_each_way_to_link(self):
        wrapper = f"mpicc.{MPI}"
        library = f"-I{self.prefix}/include -L{self.prefix}/lib -larmci -Wl,-rpath,{self.prefix}/lib"
        pkg_config = f"PKG_CONFIG_PATH={self.prefix}/lib/pkgconfig pkg-config"
        for way, command, shared in [
            ("library", f"{wrapper} {{source}} {library}", True),
            ("package", f"cc {{source}} $({pkg_config} --cflags --libs armci) -Wl,-rpath,{self.prefix}/lib", True),
            ("all", f"cc {{source}} $({pkg_config} --static --cflags --libs armci) -Wl,-rpath,{self.prefix}/lib", True),
            ("archive", f"cc {{source}} $({pkg_config} --cflags --libs armci-static)", False),
        ]:
            with self.subTest(way):
                source = shlex.quote(str(SOURCE / "tests/install/consumer.c"))
                output_of(command.format(source=source) + f" -o {way}", self.folder)
                names = self.needed(self.folder / way)[0]
                self.assertEqual(any(name.startswith("libarmci") for name in names), shared, names)
                self.run_armci(way)

    @unittest.skipUnless(MPI, "this build has no ARMCI")
    def test_another_mpis_wrapper_is_refused_by_the_header(self):
        wrapper = shutil.which("mpicc.mpich" if MPI == "openmpi" else "mpicc.openmpi")
        if wrapper is None:
            self.skipTest("there is one MPI here")
        source = SOURCE / "tests/install/consumer.c"
        done = subprocess.run([wrapper, "-c", source, f"-I{self.prefix}/include", "-o", self.folder / "other.o"],
                              text=True, capture_output=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"this armci.h and its libarmci are for {MPI}", done.stderr)

    def test_the_suppressions_for_the_leak_sanitizer(self):
        self.assertIn("leak:libpmix.so", (self.prefix / "share/grapnel/leaks.txt").read_text())

    def run_armci(self, program):
        options = "--allow-run-as-root --oversubscribe" if MPI == "openmpi" else ""
        printed = output_of(f"{LAUNCHER} {options} -n 3 ./{program}", self.folder, GRAPNEL_NODES="2")
        # Open MPI 5 warns on stderr where it finds no interface that it likes.
        lines = [line for line in printed.splitlines() if line.startswith("rank ")]
        self.assertEqual(sorted(lines), received(3))


if __name__ == "__main__":
    skips.main(sys.argv[1:])
