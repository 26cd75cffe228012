"""
Vectors in Python, with the methods of AllenNLP 0.9's `ElmoEmbedder`. Works without AllenNLP too.

    from elmo_plugin.elmo_embedder import ElmoEmbedder

    elmo = ElmoEmbedder(weights="builtin", state="reset")
    vectors = elmo.embed_sentence(["The", "cat", "sat", "."])  # (3, 4, 256)
"""

from itertools import islice
from pathlib import Path
from typing import IO, Iterable, Iterator, List, Optional, Tuple, Union

import numpy as np
import torch

from elmo_plugin.embedding.embedder import CARRIED_ROWS, DEFAULT_WEIGHTS, SentenceEmbedder, build_bilm, device_name
from elmo_plugin.embedding.layers import Choice
from elmo_plugin.embedding.run import embed_text
from elmo_plugin.embedding.scoring import LanguageModel, LogProbabilities, check_sentence
from elmo_plugin.embedding.targets import Target, check_target
from elmo_plugin.embedding.writers import Keys
from elmo_plugin.engine.backends.base import FLOAT32
from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.state import CARRIED
from elmo_plugin.formats import pretrained, read_pair, read_weights
from elmo_plugin.formats.sources import files_of
from elmo_plugin.formats.weight_set import WeightSet


class ElmoEmbedder:
    """
    Sentences to vectors.

    # Parameters

    options_file, weight_file : the biLM's files, the old way; where only one is given the other is that of "original".
    cuda_device : GPU to run on; -1 for the CPU.
    weights : the biLM: a name ("builtin" needs no network), a file, a folder, an archive or a URL. Without any of the
        three it is "original", as in 0.9, which is downloaded once.
    state : "carried", as in 0.9, where the vectors of a sentence depend on those that were embedded before it; "reset"
        or "warm", with which they depend on nothing but the sentence.
    backend : "auto", or the name of a backend, which is then used or refused.
    precision : "float32", or "float16" or "int8" for faster, rounded products on CPUs.

    # Raises

    `OptionsError` where both ways name a biLM; the errors of reading the weights.
    """

    def __init__(
        self,
        options_file: Optional[str] = None,
        weight_file: Optional[str] = None,
        cuda_device: int = -1,
        *,
        weights: Optional[str] = None,
        state: str = CARRIED,
        backend: str = "auto",
        precision: str = FLOAT32,
    ) -> None:
        self._source = (options_file, weight_file, weights)
        found = _read(*self._source, softmax=False)
        device = device_name(cuda_device)
        self.cuda_device = cuda_device
        self.bilm = build_bilm(found, state=state, backend=backend, device=device, precision=precision)
        self._vocabulary = found.vocabulary
        self._all_layers = self.sentences()
        self._language_model: Optional[LanguageModel] = None

    @property
    def dim(self) -> int:
        """Width of a vector."""
        return self.bilm.output_dim

    def reset_states(self) -> None:
        """Forget what earlier calls left behind, where state is carried."""
        self.bilm.reset_states()

    def embed_sentence(self, sentence: List[str]) -> np.ndarray:
        """
        Embed one sentence.

        # Parameters

        sentence : its tokens.

        # Returns

        `(layers, tokens, dim)` float32, the token layer first.
        """
        check_sentence(sentence)
        return self.embed_batch([sentence])[0]

    def embed_batch(self, batch: List[List[str]]) -> List[np.ndarray]:
        """
        Embed several sentences at once.

        # Parameters

        batch : lists of tokens; a sentence may have none.

        # Returns

        `(layers, tokens, dim)` float32 for each sentence.
        """
        if self.bilm.state == CARRIED:
            activations, mask = self.batch_to_embeddings(batch)
            lengths = mask.sum(dim=1).tolist()
            return [rows[:, :length].cpu().numpy() for rows, length in zip(activations, lengths)]
        _check_batch(batch)
        vectors = self._all_layers.embed(batch)  # (tokens, layers, dim)
        ends = np.cumsum([len(sentence) for sentence in batch])
        each = np.split(vectors, ends[:-1]) if len(batch) else []
        return [np.ascontiguousarray(rows.transpose(1, 0, 2)) for rows in each]

    def embed_sentences(self, sentences: Iterable[List[str]], batch_size: int = CARRIED_ROWS) -> Iterator[np.ndarray]:
        """
        Embed any number of sentences, a batch after the other.

        # Parameters

        sentences : lists of tokens.
        batch_size : sentences in a batch.

        # Returns

        What `embed_sentence` returns, for each sentence, in their order.
        """
        if batch_size < 1:
            raise OptionsError(f"batch_size is {batch_size}, expected 1 or more.")
        source = iter(sentences)
        while True:
            batch = list(islice(source, batch_size))
            if not batch:
                return
            yield from self.embed_batch(batch)

    @torch.no_grad()
    def batch_to_embeddings(self, batch: List[List[str]]) -> Tuple[torch.Tensor, torch.Tensor]:
        """
        Embed several sentences into one padded tensor.

        # Returns

        `(batch, layers, tokens, dim)` float32, zero where there is no token, and the mask `(batch, tokens)` int64.
        """
        _check_batch(batch)
        output = self.bilm.run(self._all_layers.to_ids(batch)).output(with_boundaries=False)
        return output.layers.transpose(0, 1).float(), output.mask.long()

    def embed_file(
        self,
        input_file: Union[str, Path, IO],
        output_file_path: Union[str, Path],
        output_format: Choice = "all",
        batch_size: Optional[int] = None,
        forget_sentences: bool = False,
        use_sentence_keys: bool = False,
        file_format: str = "hdf5",
        errors: str = "strict",
        resume: bool = False,
    ) -> None:
        """
        Write the vectors of a text: what `allennlp elmo` does.

        # Parameters

        input_file : a path, "-" for standard input, or an open file, which is closed; a tokenised sentence a line.
        output_file_path : file to write; replaced when the new one is whole.
        output_format : the layers: "all", "top", "average", a number, or several.
        batch_size : sentences in a batch, at most; None for 64 where state is carried, else for no limit.
        forget_sentences : leave out the map from sentences to line numbers.
        use_sentence_keys : name the datasets by sentence, not by line number.
        file_format : "hdf5", "safetensors", "parquet" or "npz".
        errors : "strict", or "replace" to read what is not UTF-8 as U+FFFD.
        resume : go on with a run that was interrupted.

        # Raises

        As `elmo_plugin.embedding.run.embed_text`.
        """
        keys = Keys(by_sentence=use_sentence_keys, with_index=not forget_sentences)
        target = Target(Path(output_file_path), file_format, keys, resume)
        check_target(input_file, target, weight_files(*self._source))
        embed_text(input_file, target, self.sentences(output_format, batch_rows=batch_size), errors)

    def sentences(
        self, layers: Choice = "all", batch_tokens: Optional[int] = None, batch_rows: Optional[int] = None
    ) -> SentenceEmbedder:
        """What embeds a text with this biLM; parameters as for `SentenceEmbedder`."""
        return SentenceEmbedder(self.bilm, self._vocabulary, layers, batch_tokens, batch_rows)

    def log_probabilities(self, sentence: List[str]) -> LogProbabilities:
        """
        Score the tokens of a sentence with the language model.

        # Raises

        `OptionsError` where the weights came without their softmax or its vocabulary.
        """
        return self.language_model.log_probabilities(sentence)

    def perplexity(self, sentence: List[str]) -> float:
        """Return the perplexity of a sentence, over both directions; raises as `log_probabilities`."""
        return self.log_probabilities(sentence).perplexity

    def most_likely(self, tokens: List[str], position: int, k: int = 10) -> List[Tuple[str, float]]:
        """Say which words fit best into a place; see `LanguageModel.most_likely`; raises as `log_probabilities`."""
        return self.language_model.most_likely(tokens, position, k)

    @property
    def language_model(self) -> LanguageModel:
        """The biLM with its softmax, which is read when it is first needed."""
        if self._language_model is None:
            self._language_model = LanguageModel(self.bilm, _read(*self._source, softmax=True))
        return self._language_model


def _check_batch(batch: List[List[str]]) -> None:
    for place, sentence in enumerate(batch):
        check_sentence(sentence, place)


def weight_files(options_file: Optional[str], weight_file: Optional[str], weights: Optional[str]) -> List[Path]:
    """The user's own files of the biLM that `ElmoEmbedder` reads with these arguments."""
    return files_of(weights or weight_file or DEFAULT_WEIGHTS, options_file)


def _read(options_file: Optional[str], weight_file: Optional[str], weights: Optional[str], softmax: bool) -> WeightSet:
    if options_file is None and weight_file is None:
        return read_weights(DEFAULT_WEIGHTS if weights is None else weights, softmax)
    if weights is not None:
        raise OptionsError(
            f"weights ({weights}) and the files ({options_file}, {weight_file}) both name a biLM. Give one of the two."
        )
    default_options, default_weights = pretrained.urls(DEFAULT_WEIGHTS)
    return read_pair(options_file or default_options, weight_file or default_weights, softmax)
