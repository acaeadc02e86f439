import unittest

from support import TreeTest

import check_text

MARK = "TO" + "DO"


class TextTest(TreeTest):
    def found(self, line, name="a.cpp", hosts=()):
        self.files = []
        self.write(name, line + "\n")
        return check_text.check(self.root, self.files, set(hosts))

    def test_an_open_end_needs_an_issue(self):
        self.assertEqual(len(self.found(f"// {MARK}: later")), 1)
        self.assertEqual(self.found(f"// {MARK}(#12): later"), [])

    def test_commented_out_code_is_found(self):
        for line in ["// foo(bar);", "  // return x;", "// auto n = count();", "// if (a) {", "// }", "#if 0", "// #include <map>"]:
            self.assertEqual(len(self.found(line)), 1, line)

    def test_prose_is_not_taken_for_code(self):
        for line in [
            "// the caller waits (see `fence`);",
            "//   put(rank, address);   as in the example",
            "/// put(rank, address);",
            "// Relaxed: a line more or less does no harm.",
            "// 2*log2 N messages = the path;",
        ]:
            self.assertEqual(self.found(line), [], line)

    def test_a_comment_is_no_longer_than_a_line(self):
        self.assertEqual(len(self.found("// " + "x" * 118)), 1)
        self.assertEqual(self.found("// " + "x" * 117), [])
        self.assertEqual(self.found("// " + "x" * 118, "a.py"), [])

    def test_a_source_file_names_its_license(self):
        self.files = []
        self.write("a.cpp", "// SPDX-License-Identifier: Apache-2.0\n")
        self.write("b.cpp", "// nothing\n")
        self.write("c.md", "nothing\n")
        found = check_text.without_license(self.root, self.files)
        self.assertEqual([line.split(":")[0] for line in found], ["b.cpp"])

    def test_paths_of_the_machine_are_found(self):
        self.assertEqual(len(self.found("see /" + "work/main", "a.md")), 1)
        self.assertEqual(self.found("see net/work/main and build/work/x", "a.md"), [])

    def test_registry_hosts_are_found(self):
        self.assertEqual(len(self.found("get it from http://deb." + "debian.example/x", "a.md")), 1)
        self.assertEqual(len(self.found("deb mirror.example.net stable", "a.md", ["mirror.example.net"])), 1)


if __name__ == "__main__":
    unittest.main()
