# SPDX-License-Identifier: Apache-2.0
import unittest

from support import TreeTest

import check_sizes


def names(text):
    return [name for name, _, _ in check_sizes.cpp_functions(text)]


def sizes(text):
    return {name: last - first + 1 for name, first, last in check_sizes.cpp_functions(text)}


class CppFunctionsTest(unittest.TestCase):
    def test_functions_in_namespaces_and_classes_are_found_with_their_lines(self):
        text = """namespace a {
class Thing final : public Base {
 public:
  int one() const { return 1; }
  template <typename T>
  T two(T value) {
    return value;
  }
};
}  // namespace a
"""
        self.assertEqual(check_sizes.cpp_functions(text), [("one", 4, 4), ("two", 5, 8)])

    def test_blocks_and_lambdas_count_in_the_function_around_them(self):
        text = "void f() {\n  for (;;) {\n    auto g = [&](int x) {\n      if (x) { h(); }\n    };\n  }\n}\n"
        self.assertEqual(sizes(text), {"f": 7})

    def test_member_initializers_with_braces(self):
        text = "Foo::Foo(int a)\n    : a_{a},\n      b_{1} {\n  run();\n}\nvoid g() {\n}\n"
        self.assertEqual(sizes(text), {"Foo::Foo": 5, "g": 2})

    def test_member_initializers_with_parentheses(self):
        self.assertEqual(sizes("Foo::Foo(int a) : a_(a), b_(std::vector<int>{1, 2}) {\n}\nvoid g() {}\n"), {"Foo::Foo": 2, "g": 1})

    def test_braces_in_strings_characters_comments_and_macros_do_not_count(self):
        text = "#define OPEN {\nvoid f() {\n  s = \"{\"; c = '{';  // {\n  r = R\"x({)\")x\"; n = 1'000'000;\n}\nvoid g() {}\n"
        self.assertEqual(sizes(text), {"f": 4, "g": 1})

    def test_the_second_branch_of_an_if_is_left_out(self):
        text = "void f() {\n#if A\n  if (a) {\n#else\n  if (b) {\n#endif\n  }\n}\nvoid g() {}\n"
        self.assertEqual(sizes(text), {"f": 8, "g": 1})

    def test_initializers_are_no_functions_but_lambdas_in_them_are(self):
        text = (
            "const std::map<int, F> table = {\n    {1, [](int x) {\n       return x;\n     }},\n    {2, other},\n"
            "    {3, [=] { return 3; }},\n};\nvoid g() {}\n"
        )
        self.assertEqual(check_sizes.cpp_functions(text), [("(lambda)", 2, 4), ("(lambda)", 6, 6), ("g", 8, 8)])

    def test_default_arguments_tests_operators_and_attributes(self):
        text = (
            "void f(std::vector<int> v = {}, int n = 2) {\n}\nTEST(Suite, Name) {\n}\n"
            "bool operator==(const A& a, const A& b) {\n  return true;\n}\n"
            "struct alignas(64) Line {\n  int x;\n};\nstruct stat look(int n) {\n}\nauto h() -> int {\n}\n"
        )
        self.assertEqual(list(sizes(text).values()), [2, 2, 3, 2, 2])

    def test_extern_c_is_a_scope(self):
        self.assertEqual(names('extern "C" {\nint f(void) { return 1; }\n}\nextern "C" int g() { return 0; }\n'), ["f", "g"])


class LimitsTest(TreeTest):
    def violations(self):
        return check_sizes.check(self.root, self.files)[0]

    def test_limits_are_inclusive(self):
        self.write("a.cpp", "void f() {\n" + "  x();\n" * 68 + "}\n" + "\n" * 430)
        self.assertEqual(self.violations(), [])

    def test_a_planted_long_cpp_function_and_file_are_found(self):
        self.write("a.cpp", "\nvoid f() {\n" + "  x();\n" * 69 + "}\n" + "\n" * 430)
        self.assertEqual(
            self.violations(), ["a.cpp: a.cpp has 502 lines (limit 500)", "a.cpp:2: function f has 71 lines (limit 70)"]
        )

    def test_a_planted_long_python_function_is_found(self):
        self.write("a.py", "def f():\n" + "    x()\n" * 70)
        self.assertEqual(self.violations(), ["a.py:1: function f has 71 lines (limit 70)"])

    def test_a_planted_long_shell_function_is_found_in_a_script_without_suffix(self):
        self.write("run", "#!/usr/bin/env bash\nf() {\n" + "  x\n" * 70 + "}\n")
        self.assertEqual(self.violations(), ["run:2: function f has 72 lines (limit 70)"])

    def test_goals_are_listed_apart(self):
        self.write("a.cpp", "void f() {\n" + "  x();\n" * 50 + "}\n")
        self.assertEqual(check_sizes.check(self.root, self.files), ([], ["a.cpp:1: function f has 52 lines (goal 40)"]))


if __name__ == "__main__":
    unittest.main()
