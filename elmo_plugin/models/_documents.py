"""Documents as sentences: what `sentence_coref` puts around the parts of AllenNLP's model."""

from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules import Seq2SeqEncoder, TextFieldEmbedder
from allennlp.nn import util
from overrides import overrides
from torch import nn
from torch.nn.utils.rnn import pad_sequence


class Documents:
    """
    The documents of the batch that a model is working on.

    # Parameters

    mask : `(batch, tokens)`, bool.
    spans : `(batch, spans, 2)`, the candidates; negative where padded.
    metadata : of the reader `coref_sentences`.

    # Raises

    `ConfigurationError` where the metadata does not tell the sentences and the speakers.
    """

    def __init__(self, mask: torch.Tensor, spans: torch.Tensor, metadata: Optional[List[Dict[str, Any]]]) -> None:
        if not metadata or any("sentence_lengths" not in about for about in metadata):
            raise ConfigurationError(
                'sentence_coref: the batch does not say where sentences end. Use the dataset reader "coref_sentences".'
            )
        self.mask = mask
        self.spans = spans
        self.lengths: List[int] = [length for about in metadata for length in about["sentence_lengths"]]
        assert sum(self.lengths) == int(mask.sum()), (self.lengths, mask.sum())
        rows = [torch.tensor(about["speakers"], device=mask.device) for about in metadata]
        #: `(batch, tokens)`: a number for each speaker of a document
        self.speakers = pad_sequence(rows, batch_first=True)

    def to_sentences(self, tokens: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        """Return `(batch, tokens, ...)` as `(sentences, longest, ...)`, and the mask of the latter."""
        lengths = torch.tensor(self.lengths, device=tokens.device)
        sentences = pad_sequence(tokens[self.mask].split(self.lengths), batch_first=True)
        return sentences, torch.arange(sentences.shape[1], device=tokens.device) < lengths.unsqueeze(1)

    def to_documents(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the vectors of all tokens of all sentences, in order, `(tokens, ...)`, as `(batch, tokens, ...)`."""
        documents = tokens.new_zeros(tuple(self.mask.shape) + tuple(tokens.shape[1:]))
        return documents.index_put((self.mask,), tokens)


class Holder:
    """Where a model leaves the documents for its parts; copies of the model share nothing."""

    def __init__(self) -> None:
        self.documents: Optional[Documents] = None

    def get(self) -> Documents:
        """The documents at work."""
        assert self.documents is not None, "forward of the model sets it"
        return self.documents


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
        documents = self._holder.get()
        packed = {
            name: {key: tensor[documents.mask].split(documents.lengths) for key, tensor in tensors.items()}
            for name, tensors in text.items()
        }
        pieces = []
        for part in _parts(documents.lengths, self._max_tokens):
            rows = {
                name: {key: pad_sequence(sentences[part], batch_first=True) for key, sentences in tensors.items()}
                for name, tensors in packed.items()
            }
            pieces.append(self._embedder(rows)[util.get_text_field_mask(rows)])
        return documents.to_documents(torch.cat(pieces))


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
        documents = self._holder.get()
        sentences, sentence_mask = documents.to_sentences(inputs)
        return documents.to_documents(self._encoder(sentences, sentence_mask)[sentence_mask])


class SpeakerColumn(nn.Module):
    """Append the number of the speaker, as a last column, to what a span extractor gives."""

    def __init__(self, extractor: nn.Module, holder: Holder) -> None:
        super().__init__()
        self._extractor = extractor
        self._holder = holder

    def forward(self, tokens: torch.Tensor, spans: torch.Tensor) -> torch.Tensor:
        speakers = self._holder.get().speakers.gather(1, spans[..., 0]).unsqueeze(-1)
        return torch.cat([self._extractor(tokens, spans), speakers.to(tokens.dtype)], dim=-1)


class WithoutLastColumn(nn.Module):
    """Call a module on all columns but the last."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self._module = module

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self._module(inputs[..., :-1])
