"""Run with: python3 -m unittest"""

import unittest

import plugin


class PluginTest(unittest.TestCase):
    def test_it_adds_a_line_to_the_prompt(self):
        patch = plugin.add_a_line({"system": "You are here."})
        self.assertIn("one sentence", patch["appendSystem"])

    def test_a_roll_is_on_the_die(self):
        self.assertIn(int(plugin.roll({"sides": 6})), range(1, 7))


if __name__ == "__main__":
    unittest.main()
