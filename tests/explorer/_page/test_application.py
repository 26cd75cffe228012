"""Who may ask for what, and what is answered; over HTTP, without a browser."""

import contextlib
import errno
import json
import shutil
import threading

import pytest

pytest.importorskip("dash")
pytest.importorskip("faiss")
pytest.importorskip("safetensors")
pytest.importorskip("waitress")

from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.explorer._page import upload
from elmo_plugin.explorer._page.application import make_application
from elmo_plugin.explorer._page.server import make_server
from elmo_plugin.explorer._page.upload import NAME_HEADER
from elmo_plugin.explorer.limits import LIMITS
from tests.explorer.explorers import SENTENCES, make_explorer, make_index
from tests.formats.test_layer_mixes import archive, config, our_state

HOST = {"Host": "127.0.0.1:8050"}


@pytest.fixture(scope="module")
def application():
    return make_application(make_explorer())


@pytest.fixture
def client(application):
    return application.server.test_client()


def ask(client, output, *inputs, state=()):
    """Call a callback as the browser does, and return what it puts where."""
    outputs = [dict(zip(("id", "property"), part.rsplit(".", 1))) for part in output.strip(".").split("...")]
    body = {
        "output": output,
        "outputs": outputs if output.startswith("..") else outputs[0],
        "inputs": [{"id": name, "property": prop, "value": value} for name, prop, value in inputs],
        "state": [{"id": name, "property": prop, "value": value} for name, prop, value in state],
        "changedPropIds": [f"{inputs[0][0]}.{inputs[0][1]}"],
    }
    answer = client.post("/_dash-update-component", json=body, headers=HOST)
    assert answer.status_code == 200, answer.data
    return json.loads(answer.data)["response"]


READ = (
    "..sentences.data...sentence.options...sentence.value...other.options...other.value..."
    "status.children...status.className.."
)
OUTPUTS = {
    "similarity": "..similarity-answer.data...similarity-data.data...similarity-numbers.children..",
    "spread": "..spread-answer.data...spread-plot.figure...spread-plot.style...spread-numbers.children..",
}


def ask_view(client, view, *more, sentences=SENTENCES, sentence=0):
    inputs = (("sentences", "data", sentences), ("sentence", "value", sentence), *more)
    return json.dumps(ask(client, OUTPUTS.get(view, f"{view}-answer.data"), *inputs))


def test_the_page_loads_nothing_from_elsewhere(client):
    answer = client.get("/", headers=HOST)
    policy = answer.headers["Content-Security-Policy"]

    assert answer.status_code == 200 and '<html lang="en">' in answer.text
    assert "default-src 'none'" in policy and "http" not in policy and "unsafe-eval" not in policy
    assert "https://" not in answer.text and "http://" not in answer.text


@pytest.mark.parametrize(
    "host", ["example.org", "example.org:8050", "127.0.0.1.example.org", "10.0.0.1:8050", "[::]", "["]
)
def test_other_names_of_this_machine_are_refused(client, host):
    assert client.get("/", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1", "[::1]:8050"])
def test_a_tunnel_may_change_the_port(client, host):
    assert client.get("/", headers={"Host": host, "Origin": f"http://{host}"}).status_code == 200


@pytest.mark.parametrize("origin", ["http://example.org", "null", "http://127.0.0.1:9999"])
def test_pages_of_others_may_not_ask(client, origin):
    answer = client.post("/archive", data=b"x", headers={**HOST, "Origin": origin})

    assert answer.status_code == 403


def test_what_is_too_large_is_refused(client):
    answer = client.post("/_dash-update-component", data=b"x" * (LIMITS.request + 1), headers=HOST)
    assert (answer.status_code, "1,048,576 bytes" in answer.text) == (413, True)
    length = {"CONTENT_LENGTH": str(LIMITS.upload + 1)}
    answer = client.post("/archive", headers={**HOST, NAME_HEADER: "a%20b"}, environ_overrides=length)
    assert answer.status_code == 413
    assert answer.json == {"error": "a b: larger than 2,048 MB, which is the limit."}


def test_archives_come_back_as_weights(client, tmp_path):
    path = archive(tmp_path / "model.tar.gz", our_state(), {"model": config()})
    headers = {**HOST, NAME_HEADER: "%3Cb%3E%20%C3%A9"}

    (mix,) = client.post("/archive", data=path.read_bytes(), headers=headers).json["mixes"]

    assert (mix["task"], mix["layers"]) == ("<b> é", [0, 1, 2])
    assert "γ" in json.dumps(ask(client, "layers-answer.data", ("archives", "data", [mix])), ensure_ascii=False)
    answer = client.post("/archive", data=b"x", headers=headers)
    assert answer.status_code == 400 and answer.json["error"].startswith("<b> é: not a tar archive")


def test_a_full_disk_is_said_and_the_next_archive_is_read(client, tmp_path, monkeypatch):
    content = archive(tmp_path / "model.tar.gz", our_state(), {"model": config()}).read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(upload.shutil, "copyfileobj", full)
        answer = client.post("/archive", data=content, headers={**HOST, NAME_HEADER: "mine"})
    assert answer.status_code == 507
    assert answer.json == {"error": "mine: could not be stored or unpacked here (No space left on device)."}
    assert client.post("/archive", data=content, headers={**HOST, NAME_HEADER: "mine"}).status_code == 200


def test_an_index_that_is_gone_gets_a_message(tmp_path):
    folder = make_index(make_explorer(), SENTENCES, tmp_path / "index")
    client = make_application(make_explorer(index=folder)).server.test_client()
    assert "theatre" in ask_view(client, "nearest", ("word", "value", 3), sentence=1)
    shutil.rmtree(folder)

    answer = ask_view(client, "nearest", ("word", "value", 3), sentence=1)

    assert "A file of the index cannot be read any more" in answer and "message error" in answer
    assert "similarity" not in ask_view(client, "surprisal")


@pytest.mark.parametrize("body", [b"[" * 100_000, b"{", b"null", b"[]", b'{"output": 3}', b"\xff"], ids=ascii)
def test_a_body_that_no_page_sends_leaves_the_others_alone(client, body):
    with contextlib.suppress(Exception):  # the test client hands on what a server would log and answer with 500
        client.post("/_dash-update-component", data=body, headers={**HOST, "Content-Type": "application/json"})

    assert "message error" not in ask_view(client, "nearest", ("word", "value", 4))


WORD = ("word", "value", 4)
LAYER = ("spread-layer", "value", 2)


@pytest.mark.parametrize(
    "view,more,expected",
    [
        ("nearest", [("word", "value", 40)], "no such word"),
        ("nearest", [("word", "value", None)], "no such word"),
        ("similarity", [("other", "value", 7), ("similarity-layer", "value", 1)], "no such word"),
        ("similarity", [("other", "value", 1), ("similarity-layer", "value", 3)], "no layer 3, only 0 to 2"),
        ("spread", [WORD, ("spread-layer", "value", "2")], "no layer '2'"),
    ],
)
def test_questions_that_no_page_asks_get_a_message(client, view, more, expected):
    answer = ask_view(client, view, *more)

    assert expected in answer and "message error" in answer


@pytest.mark.parametrize("data", [None, "x", [[]], [["\ud800"]], [[{"type": "Div"}]]], ids=repr)
def test_text_that_no_page_sends_gets_a_message(client, data):
    assert "The browser sent" in ask_view(client, "nearest", WORD, sentences=data)


@pytest.mark.parametrize(
    "typed,expected",
    [
        (None, "sent no text"),
        ({}, "sent no text"),
        ({"text": 3}, "sent no text"),
        ({"length": 10**9}, "1,000,000,000 characters"),
        ({"length": 3}, "sent no text"),
        ({"text": "A b .\nC", "split": "spaces"}, "2 sentences, 4 words."),
    ],
)
def test_what_was_typed_is_split_or_refused(client, typed, expected):
    state = [("sentence", "value", 9), ("other", "value", None), ("other", "options", [])]
    found = ask(client, READ, ("typed", "data", typed), state=state)

    assert expected in found["status"]["children"]
    assert len(found["sentences"]["data"]) == len(found["sentence"]["options"])
    if found["sentences"]["data"]:
        assert (found["sentence"]["value"], found["other"]["value"]) == (0, 1)


@pytest.mark.parametrize("before,compared", [(0, 1), (1, 1), (2, 0)])
def test_a_second_sentence_is_compared_with_the_first(client, before, compared):
    options = [{"value": number, "label": str(number)} for number in range(before)]
    state = [("sentence", "value", 0), ("other", "value", 0), ("other", "options", options)]
    found = ask(client, READ, ("typed", "data", {"text": "A b .\nC d ."}), state=state)

    assert (found["sentence"]["value"], found["other"]["value"]) == (0, compared)


def test_people_who_ask_at_once_get_their_own_answers(application):
    texts = [[[f"word{who}", "sees", f"thing{number}", "."] for number in range(3)] for who in range(6)]

    def answer(who):
        client = application.server.test_client()
        more = [("other", "value", 1), ("similarity-layer", "value", 2)]
        return ask_view(client, "similarity", *more, sentences=texts[who])

    expected = [answer(who) for who in range(len(texts))]
    wrong = []

    def visit(who):
        for _ in range(4):
            if answer(who) != expected[who]:
                wrong.append(who)

    threads = [threading.Thread(target=visit, args=(who,)) for who in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == [] and len(set(expected)) == len(texts)


def test_only_this_machine_is_listened_to_and_a_taken_port_is_named():
    explorer = make_explorer()
    server = make_server(explorer, 0)
    try:
        assert server.effective_host == "127.0.0.1"
        with pytest.raises(OptionsError, match=f"port {server.effective_port} of 127.0.0.1: .*--port"):
            make_server(explorer, int(server.effective_port))
    finally:
        server.close()
    with pytest.raises(OptionsError, match="port is 70000, expected 0 to 65535"):
        make_server(explorer, 70000)
