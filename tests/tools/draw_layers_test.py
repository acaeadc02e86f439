# SPDX-License-Identifier: Apache-2.0
import unittest

from support import ROOT, TreeTest

import draw_layers


class DrawLayers(TreeTest):
    def test_the_picture_is_current(self):
        self.assertEqual((ROOT / "docs/layers.svg").read_text(), draw_layers.draw(draw_layers.read_layers()))

    def test_another_table_is_another_picture(self):
        layers = [("low", "what lies below", []), ("high", "what lies <above>", ["low"])]
        picture = draw_layers.draw(layers)
        self.assertEqual(picture.count("<circle"), 1)
        self.assertIn("&lt;above&gt;", picture)

    def test_long_texts_are_cut_between_words(self):
        self.assertEqual(draw_layers.shortened("short"), "short")
        self.assertEqual(draw_layers.shortened("a part, " + "and " * 30), "a part")


if __name__ == "__main__":
    unittest.main()
