"""The paper's model for coreference."""

from typing import Any, Dict, List, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import FeedForward, Seq2SeqEncoder, TextFieldEmbedder
from allennlp.modules.token_embedders import Embedding
from allennlp.nn import InitializerApplicator
from allennlp_models.coref.models.coref import CoreferenceResolver
from overrides import overrides
from torch import nn
from torch.nn import functional

from elmo_plugin.models._crossing import NonCrossingScorer
from elmo_plugin.models._documents import (
    Document,
    HeadScorer,
    Holder,
    SentenceEmbedder,
    SentenceEncoder,
    SpeakerColumn,
    WithoutLastColumn,
)


@Model.register("sentence_coref")
class SentenceCoref(CoreferenceResolver):
    """
    AllenNLP's `coref` as in Lee et al. (2017) and supplement A.6 of Peters et al. (2018): sentence by sentence, with
    speakers and genres; mentions do not cross, and their heads are found by the context layer's output (AllenNLP's are
    by the embedded words).

    The embedders and the context layer see one sentence at a time, in parts of bounded size, so that ELMo reads
    sentences and a document may be long. A batch is one document, and of a short one one span is kept at least. Needs
    the reader `coref_sentences`. Registered as "sentence_coref".

    # Parameters

    text_field_embedder, context_layer, mention_feedforward, feature_size, max_span_width, spans_per_word,
    max_antecedents, lexical_dropout, initializer : as in `coref`.
    antecedent_feedforward : as in `coref`, with two features more, `2 * feature_size` columns: whether the speaker is
        the same, and the genre.
    feature_dropout : on these two.
    max_tokens_at_once : of the sentences that are embedded at once, padding included.
    """

    def __init__(
        self,
        vocab: Vocabulary,
        text_field_embedder: TextFieldEmbedder,
        context_layer: Seq2SeqEncoder,
        mention_feedforward: FeedForward,
        antecedent_feedforward: FeedForward,
        feature_size: int,
        max_span_width: int,
        spans_per_word: float,
        max_antecedents: int,
        lexical_dropout: float = 0.2,
        feature_dropout: float = 0.0,
        max_tokens_at_once: int = 2000,
        initializer: Optional[InitializerApplicator] = None,
        **kwargs: Any,
    ) -> None:
        refused = sorted({"coarse_to_fine", "inference_order"} & set(kwargs))
        if refused:
            raise ConfigurationError(
                f"sentence_coref: {refused} belong to Lee et al. (2018), which is AllenNLP's coref."
            )
        if spans_per_word <= 0:
            raise ConfigurationError(f'sentence_coref: "spans_per_word" is {spans_per_word}, expected more than 0.')
        super().__init__(
            vocab,
            text_field_embedder,
            context_layer,
            mention_feedforward,
            antecedent_feedforward,
            feature_size,
            max_span_width,
            spans_per_word,
            max_antecedents,
            lexical_dropout=lexical_dropout,
            **kwargs,
        )
        spans = mention_feedforward.get_input_dim()
        if antecedent_feedforward.get_input_dim() != 3 * spans + 3 * feature_size:
            raise ConfigurationError(
                f'"antecedent_feedforward" takes {antecedent_feedforward.get_input_dim()} columns, expected '
                f"{3 * spans + 3 * feature_size}: three times those of a span, and distance, speaker and genre."
            )
        self._holder = Holder()
        self._spans_per_word: float = spans_per_word
        self._text_field_embedder = SentenceEmbedder(text_field_embedder, self._holder, max_tokens_at_once)
        self._context_layer = SentenceEncoder(context_layer, self._holder)
        self._attentive_span_extractor._global_attention = HeadScorer(context_layer.get_output_dim(), self._holder)
        # The number of its speaker goes with each span, and is taken off before anything is computed from the span.
        self._attentive_span_extractor: nn.Module = SpeakerColumn(self._attentive_span_extractor, self._holder)
        self._mention_feedforward: nn.Module = WithoutLastColumn(self._mention_feedforward)
        self._mention_scorer: nn.Module = NonCrossingScorer(self._mention_scorer, self._holder)
        # A copy: the vocabulary may be extended later, the embedding is not.
        self._genres = dict(vocab.get_token_to_index_vocabulary("genre_tags"))
        self._speaker_embedding = Embedding(embedding_dim=feature_size, num_embeddings=2)
        self._genre_embedding = Embedding(embedding_dim=feature_size, num_embeddings=max(len(self._genres), 1))
        self._feature_dropout = nn.Dropout(feature_dropout)
        if initializer is not None:
            initializer(self)

    @overrides(check_signature=False)
    def forward(
        self,
        text: TextFieldTensors,
        spans: torch.Tensor,
        span_labels: Optional[torch.Tensor] = None,
        metadata: Optional[List[Dict[str, Any]]] = None,
    ) -> Dict[str, Any]:
        """
        Find antecedents; see AllenNLP's `coref`. A genre that the vocabulary does not have is a vector of zeros.

        # Raises

        `ConfigurationError` where the batch comes from another reader or is more than one document.
        """
        given = self._spans_per_word
        self._holder.document = document = Document(spans, metadata, given)
        if spans.shape[1] == 1:
            # AllenNLP's model drops the dimension of a single span: one of padding goes with it.
            spans = functional.pad(spans, (0, 0, 0, 1), value=-1)
            span_labels = None if span_labels is None else functional.pad(span_labels, (0, 1), value=-1)
        try:
            # It rounds the product with the tokens down, and fails where nothing is left.
            self._spans_per_word = (document.spans_to_keep + 0.5) / document.tokens
            return super().forward(text, spans, span_labels, metadata)
        finally:
            self._spans_per_word = given
            self._holder.document = None

    def _vector_of(self, genre: Optional[str]) -> torch.Tensor:
        vectors = self._genre_embedding.weight
        return vectors[self._genres[genre]] if genre in self._genres else vectors.new_zeros(vectors.shape[1])

    @overrides(check_signature=False)
    def _compute_span_pair_embeddings(
        self, top_span_embeddings: torch.Tensor, antecedent_embeddings: torch.Tensor, antecedent_offsets: torch.Tensor
    ) -> torch.Tensor:
        pairs = super()._compute_span_pair_embeddings(
            top_span_embeddings[..., :-1], antecedent_embeddings[..., :-1], antecedent_offsets
        )
        same = top_span_embeddings[..., -1].unsqueeze(2) == antecedent_embeddings[..., -1]
        speaker = self._speaker_embedding(same.long())
        genre = self._vector_of(self._holder.get().genre).expand_as(speaker)
        return torch.cat([pairs, self._feature_dropout(torch.cat([speaker, genre], dim=-1))], dim=-1)
