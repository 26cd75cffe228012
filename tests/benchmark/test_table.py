import pytest

from elmo_plugin.benchmark import report, table
from tests.benchmark.reports import example


@pytest.fixture(scope="module")
def text():
    return table.markdown(example())


def test_table():
    assert table.table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | ---: |\n| 1 | 2 |"


def test_speeds_with_ratio_spread_and_share_of_the_limit(text):
    assert "## original, 1 thread, in natural order" in text
    assert "| batch | distinct | allennlp | cpu | cpu float64 | torch.nn.LSTM † | limit | as products |" in text
    row = next(line for line in text.splitlines() if line.startswith("| 32 |"))
    assert row == (
        "| 32 | 0.47 | **60.0** 12% | **244** 4.07x (3.97 to 4.17) 49% | **120** 2.00x (1.90 to 2.10) | "
        "**200** 3.30x (3.20 to 3.40) 40% | 500 | 400 |"
    )


def test_what_is_refused_has_no_speed(text):
    row = next(line for line in text.splitlines() if line.startswith("| 8 |"))
    assert row == "| 8 | 0.47 | – | ✗ wrong |  |  | 500 | 400 |"
    assert "- allennlp (original, batch 8, natural, 1 thread(s) on cpu): needs about 24 GiB, 10 GiB are free" in text
    assert "- cpu (original, batch 8, natural, 1 thread(s) on cpu): its vectors are wrong: error 3.0e-02" in text
    assert "- torch-lstm: no reason" in text


def test_batches_are_in_order_and_orders_apart(text):
    assert text.index("| 8 |") < text.index("| 32 |")
    assert "## original, 2 threads, sorted by length" in text


def test_errors_and_other_functions_are_named(text):
    assert "Largest error against transcription float64" in text
    assert "cpu 3.0e-02, cpu float64 2.0e-06, torch.nn.LSTM 7.5e-04" in text
    assert "† not the same function" in text


def test_machine_commit_and_text(text):
    for part in (
        "Some CPU, 2 cores, AVX512",
        "Python 3.11.7",
        "torch 2.14.1",
        "0123456789abcdef",
        "2030-01-02",
        "seed 0",
    ):
        assert part in text
    assert "triton" not in text
    assert "4,096 sentences of 19.6 words" in text
    assert "| cpu | 1 | 80 GFLOP/s | 12.0 GB/s | 32 MiB |" in text


def test_indexing_and_memory(text):
    assert "| token indexer | 100,000 | 4,000 | 25.0x (20.0 to 30.0) |" in text
    assert "| batch_to_ids | ✗ not AllenNLP's tensors |  |  |" in text
    assert "| original | 8 | cpu | 400 MiB | 500 MiB | 1,200 MiB |" in text


def test_quick_form_says_that_it_is_not_for_its_times():
    quick = example()
    quick["arguments"]["quick"] = True

    assert "the times mean nothing" in table.markdown(quick)


def test_gpu():
    changed = example()
    changed["machine"].update(gpu="Some GPU", commit=None, load_before=None)
    for result in changed["speed"]:
        result["case"]["device"] = "cuda"
        result["limit"] = None

    text = table.markdown(changed)

    assert "Some GPU; Python" in text and "Some CPU" not in text and "commit unknown" in text
    assert "## original, cuda, in natural order" in text


def test_nothing_measured_yet():
    text = table.markdown(report.start(example()["machine"], {"seed": 0}))

    assert text.startswith("# Benchmark") and "##" not in text
