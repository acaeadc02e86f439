# SPDX-License-Identifier: Apache-2.0
import unittest

from support import ROOT, TreeTest

import check_layers

TABLE = """
| layer | what it is | may include |
|---|---|---|
| base | status | |
| os | machine | base |
| transport | wire | base os |
| rma | operations | base os |
| runtime | owner | base os transport rma |
| api | interfaces | base runtime |
| tools | command | base runtime |
| apps | applications | |
"""


class LayersTest(TreeTest):
    def setUp(self):
        super().setUp()
        self.write("src/README.md", TABLE)
        self.write("include/grapnel/status.hpp", "#include <string>\n")
        self.write("include/grapnel/runtime.hpp", '#include "grapnel/status.hpp"\n')
        self.write("src/base/status.cpp", '#include "grapnel/status.hpp"\n')
        self.write("src/base/log.hpp", "")
        self.write("src/os/host.hpp", '#include "base/log.hpp"\n')
        self.write("src/transport/transport.hpp", "")
        self.write("src/transport/sim/world.hpp", "")
        self.write("src/rma/put.hpp", "")
        self.write("src/runtime/runtime.cpp", '#include "grapnel/runtime.hpp"\n\n#include "transport/sim/world.hpp"\n')

    def found(self):
        return check_layers.check(self.root, self.files)

    def assert_one(self, *parts):
        found = self.found()
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_a_clean_tree_is_clean(self):
        self.assertEqual(self.found(), [])

    def test_a_sibling_is_refused_with_file_and_line(self):
        self.write("src/rma/get.cpp", '#include "rma/put.hpp"\n\n#include "transport/transport.hpp"\n')
        self.assert_one("src/rma/get.cpp:3: transport/transport.hpp: rma may not include transport")

    def test_upwards_is_refused(self):
        self.write("src/base/units.hpp", '#include "os/host.hpp"\n')
        self.assert_one("src/base/units.hpp:1", "base may not include os")

    def test_an_area_sees_another_that_its_row_grants(self):
        self.write("apps/jacobi/grid.hpp", "")
        self.write("bench/rows.cpp", '#include "jacobi/grid.hpp"\n')
        self.write("src/README.md", TABLE + "| bench | measurements | base apps |\n")
        self.assertEqual(self.found(), [])
        self.write("src/README.md", TABLE + "| bench | measurements | base |\n")
        self.assert_one("bench/rows.cpp:1: jacobi/grid.hpp: no header of this layer")

    def test_angle_brackets_do_not_hide_a_layer(self):
        self.write("src/base/units.hpp", "#include <os/host.hpp>\n")
        self.assert_one("base may not include os")

    def test_a_system_header_is_granted_even_if_its_folder_is_unknown(self):
        self.write("src/base/units.hpp", "#include <sys/mman.h>\n#include <fmt/format.h>\n")
        self.assertEqual(self.found(), [])

    def test_a_private_folder_is_refused_to_all_but_its_layer_and_runtime(self):
        self.write("src/os/internal/limits.hpp", "")
        self.write("src/os/memory.cpp", '#include "os/internal/limits.hpp"\n')
        self.write("src/rma/get.cpp", '#include "os/internal/limits.hpp"\n')
        self.assert_one("src/rma/get.cpp:1", "os/internal is private to os")

    def test_runtime_reaches_below_three_layers_only(self):
        self.write("src/rma/detail/copy.hpp", "")
        self.write("src/runtime/more.cpp", '#include "rma/detail/copy.hpp"\n')
        self.assert_one("rma/detail is private to rma")

    def test_a_front_end_never_includes_another(self):
        self.write("src/api/one/a.hpp", "")
        self.write("src/api/one/b.cpp", '#include "api/one/a.hpp"\n')
        self.write("src/api/two/c.cpp", '#include "api/one/a.hpp"\n')
        self.assert_one("src/api/two/c.cpp:1", "a front end never includes another front end")

    def test_apps_see_public_headers_only(self):
        self.write("apps/lu/blocks.hpp", "")
        self.write("apps/lu/main.cpp", '#include "grapnel/runtime.hpp"\n#include "blocks.hpp"\n#include "base/log.hpp"\n')
        self.assert_one("apps/lu/main.cpp:3: base/log.hpp", "public headers only")

    def test_public_headers_see_public_headers_only(self):
        self.write("include/grapnel/bad.hpp", '#include "base/log.hpp"\n')
        self.assert_one("include/grapnel/bad.hpp:1")

    def test_a_public_header_is_closed_to_layers_below_its_implementation(self):
        self.write("src/rma/get.cpp", '#include "grapnel/runtime.hpp"\n')
        self.assert_one("implemented by runtime, which rma may not include")

    def test_relative_and_unknown_includes_are_refused(self):
        self.write("src/rma/get.cpp", '#include "../base/log.hpp"\n#include "no_such.hpp"\n')
        self.assertEqual(len(self.found()), 2)

    def test_an_include_in_a_comment_is_none(self):
        self.write("src/base/units.hpp", '// x\n/*\n#include "os/host.hpp"\n*/\n// #include "rma/put.hpp"\n')
        self.assertEqual(self.found(), [])

    def test_a_folder_without_a_row_is_refused(self):
        self.write("src/extra/thing.hpp", "")
        self.assert_one("has no row")

    def test_cmake_uses_obey_the_table(self):
        self.write("src/rma/CMakeLists.txt", "grapnel_layer(NAME rma\n  SOURCES put.cpp\n  USES base transport LIBS fmt::fmt)\n")
        self.assert_one("USES transport", "rma may not include transport")

    def test_a_table_that_grants_what_is_not_above_is_refused(self):
        with self.assertRaises(check_layers.TableError):
            check_layers.read_table("| base | x | os |\n| os | y | |\n")

    def test_the_table_of_the_project_can_be_read(self):
        table = check_layers.read_table((ROOT / "src/README.md").read_text())
        self.assertEqual(table["base"], set())
        self.assertIn("transport", table["runtime"])


if __name__ == "__main__":
    unittest.main()
