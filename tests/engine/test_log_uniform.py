import math

import pytest
import torch

from elmo_plugin.engine.log_uniform import LogUniformSampler

CPU = torch.device("cpu")


@pytest.mark.parametrize("n_words,n_samples", [(2, 1), (10, 9), (1000, 100), (50000, 8192)])
def test_samples_are_distinct_words(n_words, n_samples):
    torch.manual_seed(0)
    words, n_draws = LogUniformSampler(n_words, n_samples).sample(CPU)

    assert words.shape == (n_samples,)
    assert len(set(words.tolist())) == n_samples
    assert 0 <= int(words.min()) and int(words.max()) < n_words
    assert n_draws >= n_samples


def test_draws_words_one_by_one_until_enough_are_distinct():
    """The vectorised draw equals a plain loop over the same random numbers."""
    sampler = LogUniformSampler(50, 12)
    sampler._n_draws = 7  # several rounds
    generator = torch.Generator().manual_seed(3)
    words, n_draws = sampler.sample(CPU, generator)

    generator.manual_seed(3)
    seen, count = [], 0
    while len(seen) < 12:
        for number in torch.rand(7, dtype=torch.float64, generator=generator).tolist():
            count += len(seen) < 12
            word = int(math.exp(number * math.log(51))) - 1
            if word not in seen and len(seen) < 12:
                seen.append(word)

    assert words.tolist() == seen
    assert n_draws == count


def test_expected_counts_are_inclusion_frequencies():
    """Over many samples each word is included as often as `1 - (1 - p) ** draws` says."""
    torch.manual_seed(1)
    sampler = LogUniformSampler(200, 40)
    n_trials = 3000
    included, expected = torch.zeros(200), torch.zeros(200)
    for _ in range(n_trials):
        words, n_draws = sampler.sample(CPU)
        included[words] += 1
        expected += sampler.log_expected_count(torch.arange(200), n_draws, torch.float64).exp()

    # 5 standard errors of a frequency, and 0.02 as the number of draws depends a little on the words drawn
    torch.testing.assert_close(included / n_trials, (expected / n_trials).float(), rtol=0, atol=0.06)
    assert abs(float(expected.sum()) / n_trials - 40) < 0.5


def test_single_draws_follow_zipf():
    torch.manual_seed(2)
    sampler = LogUniformSampler(20, 1)
    draws = sampler._draw(200_000, CPU, None)
    frequencies = torch.bincount(draws, minlength=20) / 200_000
    expected = sampler.log_expected_count(torch.arange(20), 1, torch.float64).exp()

    assert float(expected.sum()) == pytest.approx(1.0)
    torch.testing.assert_close(frequencies.double(), expected, rtol=0, atol=0.006)


def test_no_repeated_draw_counts_samples_times_probability():
    """As TensorFlow: n * p when the number of draws equals the number of samples."""
    sampler = LogUniformSampler(20, 5)
    probability = sampler.log_expected_count(torch.arange(20), 6, torch.float64).exp()
    p = torch.log1p(1 / (torch.arange(20).double() + 1)) / math.log(21)

    torch.testing.assert_close(sampler.log_expected_count(torch.arange(20), 5, torch.float64).exp(), 5 * p)
    torch.testing.assert_close(probability, 1 - (1 - p) ** 6)


@pytest.mark.parametrize("n_words,n_samples", [(10, 10), (10, 11), (10, 0)])
def test_refuses_as_many_samples_as_words(n_words, n_samples):
    with pytest.raises(ValueError, match=f"{n_samples} negative samples from a vocabulary of {n_words} words"):
        LogUniformSampler(n_words, n_samples)


def test_torch_seed_decides():
    sampler = LogUniformSampler(1000, 100)
    torch.manual_seed(5)
    first = sampler.sample(CPU)[0]
    torch.manual_seed(5)

    assert torch.equal(first, LogUniformSampler(1000, 100).sample(CPU)[0])
