import os

import pytest

pytest.importorskip("allennlp")

from allennlp.common.checks import ConfigurationError  # noqa: E402

from elmo_plugin.adapters.outputs import check_output  # noqa: E402


@pytest.mark.parametrize("given", ["text", "link", "folder", "."])
def test_what_is_read_is_refused(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    text = tmp_path / "folder" / "deep" / "text"
    text.write_text("a")
    os.link(text, tmp_path / "text")
    (tmp_path / "link").symlink_to(text)
    with pytest.raises(ConfigurationError, match=rf"text: is read \({given}\), expected another file to write"):
        check_output(text, ["missing", given])

    check_output(tmp_path / "new", ["missing", given])
    (tmp_path / "old").write_text("b")
    if given != ".":
        check_output(tmp_path / "old", [given])


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="is a folder, expected the file to write"):
        check_output(tmp_path, [])
