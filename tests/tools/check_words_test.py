# SPDX-License-Identifier: Apache-2.0
import unittest
import unittest.mock

from support import TreeTest

import check_words


class CheckWords(TreeTest):
    def added(self, path, line):
        return list(check_words.bad_additions([(path, 7, line)]))

    def test_a_worst_word_in_a_new_comment(self):
        found = self.added("src/a/b.cpp", "  x();  // whoever comes first")
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith('src/a/b.cpp:7: "whoever" in a new line: name the process'))

    def test_a_document_and_a_script(self):
        self.assertEqual(len(self.added("docs/a.md", "Nobody waits.")), 1)
        self.assertEqual(len(self.added("tools/a.py", "x = 1  # nobody waits")), 1)

    def test_what_is_not_prose(self):
        for path, line in (("src/a/b.cpp", "nobody(meanwhile);"), ("docs/a.md", "the user `nobody`"),
                           ("docs/glossary.md", "not: whoever"), ("apps/a.cpp", "// whoever")):
            self.assertEqual(self.added(path, line), [], line)

    def test_the_share(self):
        self.write("src/a.cpp", "// one two who four\nint who;\n")
        self.write("docs/a.md", "one two three four five, says `who`\n")
        with unittest.mock.patch.object(check_words, "project_files", return_value=self.files):
            words, habit, _ = check_words.count(self.root)
        self.assertEqual((words["comments"], habit["comments"]), (4, 1))
        self.assertEqual((words["documents"], habit["documents"]), (6, 1))
