import gzip
import logging
import os
from pathlib import Path

import numpy as np
import pytest

from elmo_plugin.embedding.embedder import SentenceEmbedder, build_bilm
from elmo_plugin.embedding.journal import folder_of
from elmo_plugin.embedding.run import embed_text
from elmo_plugin.embedding.targets import Target, check_target
from elmo_plugin.embedding.writers import Keys, names, read_description
from elmo_plugin.engine.errors import FormatError, OptionsError
from elmo_plugin.formats import read_weights
from tests import tiny
from tests.embedding.runs import make_embedder, small_parts, write_text

h5py = pytest.importorskip("h5py")


@pytest.fixture(scope="module")
def embedder(tmp_path_factory):
    return make_embedder(tmp_path_factory.mktemp("biLM"), kind=SentenceEmbedder)


def test_lines_keep_their_numbers(embedder, tmp_path, monkeypatch):
    small_parts(monkeypatch)
    text = write_text(tmp_path / "text", 50)
    seen = []
    done = embed_text(text, Target(tmp_path / "out"), embedder, on_progress=seen.append)
    lines = text.read_text(encoding="utf-8").split("\n")[:-1]

    with h5py.File(tmp_path / "out", "r") as file:
        assert len(file) == len(lines) + 1
        for number, line in enumerate(lines):
            found = file[str(number)]
            assert found.dtype == np.float32 and found.shape == (3, len(line.split()), 12)
            expected = embedder.embed([line.split()]).transpose(1, 0, 2)
            np.testing.assert_allclose(found[...], expected, atol=1e-5)
    assert (done.lines, done.tokens) == (50, sum(len(line.split()) for line in lines))
    assert [progress.lines for progress in seen] == sorted(progress.lines for progress in seen)
    assert seen[-1] == done and done.fraction == 1.0 and done.computed == done.tokens


@pytest.mark.parametrize("format", names())
def test_formats_say_what_they_hold(embedder, format, tmp_path):
    if format == "parquet":
        pytest.importorskip("pyarrow")
    text = write_text(tmp_path / "text", 5)
    embed_text(text, Target(tmp_path / "out", format), embedder)
    about = read_description(tmp_path / "out")

    assert about["lines"] == 5 and about["state"] == "reset" and about["layers"] == "all"
    assert about["num_layers"] == 3 and about["dim"] == 12 and len(about["weights_fingerprint"]) == 64
    done = embed_text(text, Target(tmp_path / "out", format, resume=True), embedder)  # is finished already
    assert (done.lines, done.computed, done.tokens) == (5, 0, about["tokens"]) and done.tokens > 0
    write_text(text, 6)
    with pytest.raises(OptionsError, match=r"of another run \(lines: 5, now 6; text_digest: "):
        embed_text(text, Target(tmp_path / "out", format, resume=True), embedder)


@pytest.mark.parametrize("layers", ["1", "0,2"])
@pytest.mark.parametrize("format", names())
def test_finished_with_layers_by_number(format, layers, tmp_path):
    if format == "parquet":
        pytest.importorskip("pyarrow")
    text, embedder = write_text(tmp_path / "text", 5), make_embedder(tmp_path / "biLM", layers=layers)
    embed_text(text, Target(tmp_path / "out", format), embedder)

    assert embed_text(text, Target(tmp_path / "out", format, resume=True), embedder).computed == 0


@pytest.mark.parametrize(
    "target, rows, message",
    [
        (Target(Path("out"), "npz"), 64, "format: 'hdf5', now 'npz'"),
        (Target(Path("out"), keys=Keys(by_sentence=True)), 64, "use_sentence_keys: 0, now 1"),
        (Target(Path("out"), keys=Keys(with_index=False)), 64, "forget_sentences: 0, now 1"),
        (Target(Path("out")), 32, "batch_size: 64, now 32"),
    ],
    ids=str,
)
def test_a_file_of_other_settings_is_not_taken_for_finished(target, rows, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = write_text(tmp_path / "text", 5)
    embed_text(text, Target(Path("out")), make_embedder(tmp_path / "biLM", state="carried"))
    embedder = make_embedder(tmp_path / "biLM", state="carried", batch_rows=rows)
    with pytest.raises(OptionsError, match=rf"of another run \(.*{message}"):
        embed_text(text, target._replace(resume=True), embedder)


@pytest.mark.parametrize("corrected", [["a", "the", "."], ["the", "a", "."]])
def test_other_words_beside_the_same_weights_are_another_run(corrected, tmp_path, monkeypatch):
    """Whoever puts the right vocabulary beside the weights does not go on with the vectors of the wrong one."""
    small_parts(monkeypatch)
    tiny.write(tmp_path / "biLM", words=6)
    text, wrong = write_text(tmp_path / "text", 100), ["a", "the", "."]
    with pytest.raises(KeyboardInterrupt):
        embed_text(text, Target(tmp_path / "out"), with_words(tmp_path, wrong), on_progress=stop_behind(60))
    embedder = with_words(tmp_path, corrected)
    if corrected == wrong:
        assert embed_text(text, Target(tmp_path / "out", resume=True), embedder).lines == 100
    else:
        with pytest.raises(OptionsError, match="weights_fingerprint: "):
            embed_text(text, Target(tmp_path / "out", resume=True), embedder)


def with_words(folder, words):
    (folder / "biLM" / "vocabulary.txt").write_text("\n".join(["<S>", "</S>", "<UNK>", *words]) + "\n")
    weights = read_weights(folder / "biLM")
    return SentenceEmbedder(build_bilm(weights, state="reset"), weights.vocabulary, batch_tokens=64)


def test_errors_may_become_replace_on_the_way(embedder, tmp_path, monkeypatch):
    small_parts(monkeypatch)
    text = write_text(tmp_path / "text", 100)
    text.write_bytes(text.read_bytes() + b"na\xefve\n")
    embed_text(text, Target(tmp_path / "whole"), embedder, errors="replace")
    with pytest.raises(FormatError, match="line 101: byte 3"):
        embed_text(text, Target(tmp_path / "out"), embedder)
    done = embed_text(text, Target(tmp_path / "out", resume=True), embedder, errors="replace")

    assert 0 < done.computed < done.tokens
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()
    with pytest.raises(OptionsError, match="errors: 'replace', now 'strict'"):
        embed_text(text, Target(tmp_path / "out", resume=True), embedder)


def test_what_was_replaced_is_not_gone_on_with_strictly(embedder, tmp_path, monkeypatch):
    small_parts(monkeypatch)
    text = write_text(tmp_path / "text", 100)
    with pytest.raises(KeyboardInterrupt):
        embed_text(text, Target(tmp_path / "out"), embedder, on_progress=stop_behind(60))
    with pytest.raises(KeyboardInterrupt):
        target = Target(tmp_path / "out", resume=True)
        embed_text(text, target, embedder, errors="replace", on_progress=stop_behind(70))
    with pytest.raises(OptionsError, match="errors: 'replace', now 'strict'"):
        embed_text(text, Target(tmp_path / "out", resume=True), embedder)


def test_nothing_stays_where_nothing_was_finished(embedder, tmp_path, caplog):
    (tmp_path / "text").write_bytes(b"na\xefve\n")
    with pytest.raises(FormatError, match="line 1: byte 3"):
        embed_text(tmp_path / "text", Target(tmp_path / "out"), embedder)
    assert "Stopped before anything was finished." in caplog.text and not folder_of(tmp_path / "out").exists()

    embed_text(tmp_path / "text", Target(tmp_path / "out"), embedder, errors="replace")


def test_empty_text(embedder, tmp_path):
    (tmp_path / "text").write_bytes(b"")
    embed_text(tmp_path / "text", Target(tmp_path / "out"), embedder)

    with h5py.File(tmp_path / "out", "r") as file:
        assert list(file) == ["sentence_to_index"] and file["sentence_to_index"][0] == b"{}"


def test_gzip_gives_the_same_file(embedder, tmp_path):
    text = write_text(tmp_path / "text", 20)
    (tmp_path / "text.gz").write_bytes(gzip.compress(text.read_bytes()))
    embed_text(text, Target(tmp_path / "one"), embedder)
    embed_text(tmp_path / "text.gz", Target(tmp_path / "two"), embedder)

    with h5py.File(tmp_path / "one", "r") as one, h5py.File(tmp_path / "two", "r") as two:
        assert all((one[name][...] == two[name][...]).all() for name in one)


def stop_behind(lines):
    def stop(progress):
        if progress.lines >= lines:
            raise KeyboardInterrupt

    return stop


def test_interrupted_and_changed(embedder, tmp_path, monkeypatch, caplog):
    small_parts(monkeypatch)
    text = write_text(tmp_path / "text", 100)
    content = text.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        embed_text(text, Target(tmp_path / "out"), embedder, on_progress=stop_behind(60))
    assert "the same command with --resume goes on from there" in caplog.text

    text.write_bytes(content[:10] + b"!" + content[11:])
    with pytest.raises(FormatError, match="lines are not those that .*out.unfinished was begun with"):
        embed_text(text, Target(tmp_path / "out", resume=True), embedder)
    text.write_bytes(content[:50])
    with pytest.raises(FormatError, match="lines are not those"):
        embed_text(text, Target(tmp_path / "out", resume=True), embedder)
    with pytest.raises(OptionsError, match="holds an unfinished run"):
        embed_text(text, Target(tmp_path / "out"), embedder)
    text.write_bytes(content)
    done = embed_text(text, Target(tmp_path / "out", resume=True), embedder)

    assert done.lines == 100 and done.computed < done.tokens


def test_a_text_that_grew_is_refused(embedder, tmp_path, monkeypatch):
    text = write_text(tmp_path / "text", 20)
    monkeypatch.setattr("os.replace", refuse_output("out"))
    with pytest.raises(OSError, match="refused"):
        embed_text(text, Target(tmp_path / "out"), embedder)
    with open(text, "a") as file:
        file.write("more\n")
    with pytest.raises(FormatError, match="goes on behind line 20"):
        embed_text(text, Target(tmp_path / "out", resume=True), embedder)


def refuse_output(name):
    import os

    replace = os.replace

    def replacing(source, target):
        if os.fspath(target).endswith(name):
            raise OSError("refused")
        replace(source, target)

    return replacing


@pytest.mark.parametrize("keys", [Keys(), Keys(with_index=False)], ids=str)
def test_duplicates_by_number(embedder, keys, tmp_path):
    (tmp_path / "text").write_text("a b\nc\na b\n")
    embed_text(tmp_path / "text", Target(tmp_path / "out", keys=keys), embedder)

    with h5py.File(tmp_path / "out", "r") as file:
        np.testing.assert_allclose(file["0"][...], file["2"][...], atol=1e-5)
        if keys.with_index:
            assert file["sentence_to_index"].shape == (1,)
            assert file["sentence_to_index"][0] == b'{"a b": "2", "c": "1"}'
        else:
            assert len(file) == 3


def test_escaped_tokens_are_told_once(embedder, tmp_path, caplog):
    (tmp_path / "text").write_text("fine\nit &apos;s &amp; that\nis &quot;\n")
    with caplog.at_level(logging.WARNING):
        embed_text(tmp_path / "text", Target(tmp_path / "out"), embedder)

    (record,) = caplog.records
    assert "line 2: '&apos;s' looks like a token that was escaped" in record.getMessage()


def test_refusals_come_before_the_work(tmp_path):
    text = write_text(tmp_path / "text", 3)
    (tmp_path / "link").symlink_to(text)
    os.mkfifo(tmp_path / "pipe")
    for target, message in (
        (Target(tmp_path), "is a folder, expected the file to write"),
        (Target(tmp_path / "link"), "is the text, expected another file"),
        (Target(tmp_path / "pipe"), "is a device or a pipe, expected the file to write"),
        (Target(Path("-")), "vectors do not go to standard output"),
        (Target(text / "out"), "cannot be written, because .*text is no folder"),
        (Target(tmp_path / "out", "csv"), "unknown format 'csv'; choose one of"),
        (Target(tmp_path / "out", "npz", Keys(by_sentence=True)), "lines are named by their numbers"),
    ):
        with pytest.raises(OptionsError, match=message):
            check_target(text, target)
    with pytest.raises(FileNotFoundError, match="no such file, expected text"):
        check_target(tmp_path / "nothing", Target(tmp_path / "out"))
    with pytest.raises(OptionsError, match="is a folder, expected text"):
        check_target(tmp_path, Target(tmp_path / "out"))
    with pytest.raises(OptionsError, match="weights.hdf5: belongs to the biLM, expected another file"):
        check_target(text, Target(tmp_path / "weights.hdf5"), [Path(file) for file in tiny.write(tmp_path)])

    assert not folder_of(tmp_path / "out").exists()


def test_a_folder_that_takes_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda folder, mode: folder != tmp_path)
    with pytest.raises(PermissionError, match="nothing may be made in the folder"):
        check_target(write_text(tmp_path / "text", 3), Target(tmp_path / "new" / "out"))


def test_formats_hold_the_same_vectors(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    import pyarrow.parquet
    from safetensors.numpy import load_file

    small_parts(monkeypatch)
    text, embedder = write_text(tmp_path / "text", 100), make_embedder(tmp_path / "biLM")
    for format in names():
        embed_text(text, Target(tmp_path / format, format), embedder)

    tensors = load_file(tmp_path / "safetensors")
    rows = pyarrow.parquet.read_table(tmp_path / "parquet").column("vectors").to_pylist()
    with h5py.File(tmp_path / "hdf5", "r") as hdf5, np.load(tmp_path / "npz") as npz:
        for line, (start, stop) in enumerate(zip(tensors["offsets"], tensors["offsets"][1:])):
            expected = tensors["vectors"][start:stop]
            assert start == stop or len(np.unique(expected)) > 3
            np.testing.assert_array_equal(hdf5[str(line)][...].transpose(1, 0, 2), expected)
            np.testing.assert_array_equal(npz[str(line)].transpose(1, 0, 2), expected)
            np.testing.assert_array_equal(np.array(rows[line], dtype=np.float32).reshape(expected.shape), expected)
