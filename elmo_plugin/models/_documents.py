"""A document as sentences: what `sentence_coref` puts around the parts of AllenNLP's model."""

import math
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules import Seq2SeqEncoder, TextFieldEmbedder
from allennlp.nn import util
from overrides import overrides
from torch import nn
from torch.nn.utils.rnn import pad_sequence


class Document:
    """
    The document that a model is working on.

    # Parameters

    spans : `(1, spans, 2)`, the candidates.
    metadata : of the reader `coref_sentences`.
    spans_per_word : how many of the candidates to keep, per token: rounded down, at least one, at most all.

    # Raises

    `ConfigurationError` where the metadata does not tell the sentences and the speakers, and where there is more than
    one document.
    """

    def __init__(self, spans: torch.Tensor, metadata: Optional[List[Dict[str, Any]]], spans_per_word: float) -> None:
        if not metadata or any("sentence_lengths" not in about for about in metadata):
            raise ConfigurationError(
                'sentence_coref: the batch does not say where sentences end. Use the dataset reader "coref_sentences".'
            )
        if len(metadata) > 1:
            raise ConfigurationError(
                f"sentence_coref: a batch of {len(metadata)} documents, expected one, because documents in a batch "
                'would change each other\'s clusters. Give data loaders a "batch_size" of 1, `allennlp predict` '
                "--batch-size 1, and a predictor one document at a time."
            )
        self.lengths: List[int] = metadata[0]["sentence_lengths"]
        self.tokens = sum(self.lengths)
        self.spans = spans[0]
        self.spans_to_keep = min(max(math.floor(spans_per_word * self.tokens), 1), len(self.spans))
        self.genre: Optional[str] = metadata[0]["genre"]
        #: `(1, tokens, dim)`, the context layer's output; None until it is there
        self.contextual: Optional[torch.Tensor] = None
        #: `(tokens,)`: a number for each speaker
        self.speakers = torch.tensor(metadata[0]["speakers"], device=spans.device)

    def to_sentences(self, tokens: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        """Return `(1, tokens, ...)` as `(sentences, longest, ...)`, and the mask of the latter."""
        lengths = torch.tensor(self.lengths, device=tokens.device)
        sentences = pad_sequence(tokens[0].split(self.lengths), batch_first=True)
        return sentences, torch.arange(sentences.shape[1], device=tokens.device) < lengths.unsqueeze(1)


class Holder:
    """Where a model leaves the document for its parts; copies of the model share nothing."""

    def __init__(self) -> None:
        self.document: Optional[Document] = None

    def get(self) -> Document:
        """The document at work."""
        assert self.document is not None, "forward of the model sets it"
        return self.document


class SentenceEmbedder(TextFieldEmbedder):
    """
    Embed each sentence of a document by itself, `max_tokens` at once (padding included), one sentence at least.

    A biLM so sees the sentences that it was trained on, and what it needs does not grow with the document.
    """

    def __init__(self, embedder: TextFieldEmbedder, holder: Holder, max_tokens: int) -> None:
        super().__init__()
        self._embedder = embedder
        self._holder = holder
        self._max_tokens = max_tokens

    @overrides
    def get_output_dim(self) -> int:
        return self._embedder.get_output_dim()

    @overrides(check_signature=False)
    def forward(self, text: Dict[str, Dict[str, torch.Tensor]]) -> torch.Tensor:
        lengths = self._holder.get().lengths
        packed = {
            name: {key: tensor[0].split(lengths) for key, tensor in tensors.items()} for name, tensors in text.items()
        }
        pieces = []
        for part in _parts(lengths, self._max_tokens):
            rows = {
                name: {key: pad_sequence(sentences[part], batch_first=True) for key, sentences in tensors.items()}
                for name, tensors in packed.items()
            }
            pieces.append(self._embedder(rows)[util.get_text_field_mask(rows)])
        return torch.cat(pieces).unsqueeze(0)


def _parts(lengths: List[int], max_tokens: int) -> Iterator[slice]:
    """Cut a row of sentences into parts of at most so many tokens."""
    start = longest = 0
    for index, length in enumerate(lengths):
        longest = max(longest, length)
        if index > start and longest * (index + 1 - start) > max_tokens:
            yield slice(start, index)
            start, longest = index, length
    yield slice(start, len(lengths))


class SentenceEncoder(nn.Module):
    """Encode each sentence of a document by itself."""

    def __init__(self, encoder: Seq2SeqEncoder, holder: Holder) -> None:
        super().__init__()
        self._encoder = encoder
        self._holder = holder

    def forward(self, inputs: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        document = self._holder.get()
        sentences, sentence_mask = document.to_sentences(inputs)
        document.contextual = self._encoder(sentences, sentence_mask)[sentence_mask].unsqueeze(0)
        return document.contextual


class HeadScorer(nn.Module):
    """
    Score each token as the head of spans, by what the context layer says of it.

    In the place of the scorer of AllenNLP's span extractor, which is given the embedded tokens that it sums.
    """

    def __init__(self, input_dim: int, holder: Holder) -> None:
        super().__init__()
        self._scorer = nn.Linear(input_dim, 1)
        self._holder = holder

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        contextual = self._holder.get().contextual
        assert contextual is not None, f"of {tokens.shape[1]} tokens, none encoded yet"
        return self._scorer(contextual)


class SpeakerColumn(nn.Module):
    """Append the number of the speaker, as a last column, to what a span extractor gives."""

    def __init__(self, extractor: nn.Module, holder: Holder) -> None:
        super().__init__()
        self._extractor = extractor
        self._holder = holder

    def forward(self, tokens: torch.Tensor, spans: torch.Tensor) -> torch.Tensor:
        speakers = self._holder.get().speakers[spans[..., 0]].unsqueeze(-1)
        return torch.cat([self._extractor(tokens, spans), speakers.to(tokens.dtype)], dim=-1)


class WithoutLastColumn(nn.Module):
    """Call a module on all columns but the last."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self._module = module

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self._module(inputs[..., :-1])
