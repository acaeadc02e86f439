# SPDX-License-Identifier: Apache-2.0
from support import TreeTest

import check_modules


class ModulesTest(TreeTest):
    def check(self):
        return check_modules.check(self.root, self.files)

    def test_an_imported_name_that_two_files_have(self):
        self.write("a/jobs.py", "")
        self.write("b/jobs.py", "")
        self.write("c/run", "#!/usr/bin/env python3\nfrom jobs import one\n")
        self.assertEqual(self.check(),
                         ["module jobs is imported, and 2 files have its name: a/jobs.py, b/jobs.py; rename all but one"])

    def test_a_script_that_no_file_imports_may_share_its_name(self):
        self.write("a/run.py", "import os\n")
        self.write("b/run.py", "import sys\nfrom a import run\n")
        self.assertEqual(self.check(), [])

    def test_a_program_without_a_suffix_counts(self):
        self.write("lab", "#!/usr/bin/env python3\n")
        self.write("b/lab.py", "")
        self.write("c.py", "import lab.network\n")
        self.write("readme", "lab\n")
        self.assertEqual(len(self.check()), 1)
