"""Names that shadow the standard library, and names of tests."""

import pytest

from headway.influence import bends, is_test, shadows


@pytest.mark.parametrize("path", ["unittest.py", "src/json.pyc", "re/__init__.py", "a/os.abi3.so"])
def test_modules_of_the_standard_library_are_shadowed_by_name(path: str) -> None:
    assert shadows(path)
    assert bends(path)


@pytest.mark.parametrize(
    "path", ["test/a.js", "json.txt", "calc.py", "email/notes.md", "Unittest.py"]
)
def test_other_files_shadow_nothing(path: str) -> None:
    assert not shadows(path)
    assert not bends(path)


@pytest.mark.parametrize(
    "path", ["tests/a.txt", "test_a.py", "a_test.go", "src/a.spec.ts", "check.sh"]
)
def test_tests_are_known_by_folder_or_name(path: str) -> None:
    assert is_test(path)


@pytest.mark.parametrize("path", ["latest.py", "contest/a.py", "src/a.ts", "checkout.py"])
def test_other_names_are_no_tests(path: str) -> None:
    assert not is_test(path)
