"""The paper's model for SQuAD: bidirectional attention flow with self-attention."""

from typing import Any, Dict, List, Optional

import torch
from allennlp.common.checks import ConfigurationError, check_dimensions_match
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import InputVariationalDropout, Seq2SeqEncoder, TextFieldEmbedder
from allennlp.modules.matrix_attention import LinearMatrixAttention
from allennlp.nn import InitializerApplicator, util
from allennlp.training.metrics import BooleanAccuracy, CategoricalAccuracy
from allennlp_models.rc.metrics import SquadEmAndF1
from overrides import overrides
from torch import nn
from torch.nn import functional

from elmo_plugin.models._tokens import require_tokens

TRILINEAR = "x,y,x*y"


@Model.register("bidaf_self_attention")
class BidafSelfAttention(Model):
    """
    Answer questions by a span of a passage (Clark and Gardner 2017, the single-paragraph model), as in Peters et al.
    (2018, supplement A.4) with ELMo around its first encoder.

    ELMo at the input is a matter of the text field embedder, ELMo at the output one of `phrase_layer`: the encoder
    `elmo_output`. Registered as "bidaf_self_attention".

    # Parameters

    text_field_embedder : embeds question and passage.
    phrase_layer : encodes question and passage, with the same weights, and drops what is to be dropped around it (the
        encoder `variational_dropout`).
    residual_layer : encodes the passage in front of the attention to itself.
    span_start_layer, span_end_layer : in front of the scores; the latter's input is that of the former and its output.
    dropout : variational, around the residual layer and behind the block.
    max_span_length : tokens of the longest answer, at least 1.
    initializer : of the weights.
    """

    default_predictor = "reading_comprehension"

    def __init__(
        self,
        vocab: Vocabulary,
        text_field_embedder: TextFieldEmbedder,
        phrase_layer: Seq2SeqEncoder,
        residual_layer: Seq2SeqEncoder,
        span_start_layer: Seq2SeqEncoder,
        span_end_layer: Seq2SeqEncoder,
        dropout: float = 0.2,
        max_span_length: int = 17,
        initializer: Optional[InitializerApplicator] = None,
        **kwargs: Any,
    ) -> None:
        if max_span_length < 1:
            raise ConfigurationError(
                f'bidaf_self_attention: "max_span_length" is {max_span_length}, expected at least 1 token.'
            )
        super().__init__(vocab, **kwargs)
        encoding, width = phrase_layer.get_output_dim(), residual_layer.get_input_dim()
        hidden = residual_layer.get_output_dim()
        start = span_start_layer.get_output_dim()
        for found, expected, names in (
            (phrase_layer.get_input_dim(), text_field_embedder.get_output_dim(), ("phrase layer", "embedded text")),
            (span_start_layer.get_input_dim(), width, ("span start layer", "residual layer")),
            (span_end_layer.get_input_dim(), width + start, ("span end layer", "residual and span start layers")),
        ):
            check_dimensions_match(found, expected, *names)
        self._text_field_embedder = text_field_embedder
        self._phrase_layer = phrase_layer
        self._attention = LinearMatrixAttention(encoding, encoding, combination=TRILINEAR)
        self._merge = nn.Linear(4 * encoding, width)
        self._residual_layer = residual_layer
        self._self_attention = LinearMatrixAttention(hidden, hidden, combination=TRILINEAR)
        # The score of attending to nothing, the paper's "no-alignment".
        self._no_alignment = nn.Parameter(torch.full((1,), -1.0))
        self._self_merge = nn.Linear(3 * hidden, width)
        self._span_start_layer, self._span_end_layer = span_start_layer, span_end_layer
        self._span_start_scorer = nn.Linear(start, 1)
        self._span_end_scorer = nn.Linear(span_end_layer.get_output_dim(), 1)
        self._dropout = InputVariationalDropout(dropout)
        self._max_span_length = max_span_length
        self._accuracies = {"start_acc": CategoricalAccuracy(), "end_acc": CategoricalAccuracy()}
        self._span_accuracy = BooleanAccuracy()
        self._squad = SquadEmAndF1()
        if initializer is not None:
            initializer(self)

    @overrides(check_signature=False)
    def forward(
        self,
        question: TextFieldTensors,
        passage: TextFieldTensors,
        span_start: Optional[torch.Tensor] = None,
        span_end: Optional[torch.Tensor] = None,
        metadata: Optional[List[Dict[str, Any]]] = None,
    ) -> Dict[str, Any]:
        """
        Score every token as the start and as the end of the answer.

        # Parameters

        question, passage : of AllenNLP's `squad` reader, as everything here.
        span_start, span_end : `(batch, 1)`, tokens of the passage, both inside the answer.
        metadata : with "original_passage" and "token_offsets", "answer_texts" for the scores.

        # Returns

        `span_start_logits` and `span_end_logits` `(batch, tokens)`, their `_probs`, `best_span` `(batch, 2)`;
        `loss` where the spans are given, `best_span_str` and more with metadata.

        # Raises

        `ConfigurationError` where a question or a passage has no token.
        """
        require_tokens("bidaf_self_attention", metadata, question=question, passage=passage)
        mask = util.get_text_field_mask(passage)
        question_mask = util.get_text_field_mask(question)
        encoded_question = self._phrase_layer(self._text_field_embedder(question), question_mask)
        encoded = self._phrase_layer(self._text_field_embedder(passage), mask)
        merged = self._attend_to_question(encoded, mask, encoded_question, question_mask)
        merged = self._dropout(merged + self._attend_to_itself(merged, mask))  # (batch, tokens, width)
        starts = self._span_start_layer(merged, mask)
        ends = self._span_end_layer(torch.cat([merged, starts], dim=-1), mask)
        logits = {
            "span_start": _masked(self._span_start_scorer(starts).squeeze(-1), mask),
            "span_end": _masked(self._span_end_scorer(ends).squeeze(-1), mask),
        }
        output: Dict[str, Any] = {}
        for name, scores in logits.items():
            output[f"{name}_logits"] = scores
            output[f"{name}_probs"] = torch.softmax(scores, dim=-1)
        output["best_span"] = best_spans(logits["span_start"], logits["span_end"], self._max_span_length)
        if span_start is not None and span_end is not None:
            output["loss"] = self._loss(logits, output["best_span"], span_start, span_end)
        if metadata is not None:
            output.update(self._answers(output["best_span"].tolist(), metadata))
        return output

    def _attend_to_question(
        self, passage: torch.Tensor, mask: torch.Tensor, question: torch.Tensor, question_mask: torch.Tensor
    ) -> torch.Tensor:
        scores = self._attention(passage, question)  # (batch, tokens, question tokens)
        to_question = util.weighted_sum(question, util.masked_softmax(scores, question_mask.unsqueeze(1)))
        best = _masked(scores, question_mask.unsqueeze(1)).max(dim=-1).values
        to_passage = util.weighted_sum(passage, util.masked_softmax(best, mask)).unsqueeze(1)
        parts = [passage, to_question, passage * to_question, passage * to_passage]
        return functional.relu(self._merge(torch.cat(parts, dim=-1)))

    def _attend_to_itself(self, merged: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        encoded = self._dropout(self._residual_layer(self._dropout(merged), mask))
        scores = self._self_attention(encoded, encoded)  # (batch, tokens, tokens)
        others = ~torch.eye(scores.shape[1], dtype=torch.bool, device=scores.device)
        scores = _masked(scores, mask.unsqueeze(1) & others)
        nothing = self._no_alignment.expand(scores.shape[:2] + (1,))
        shares = torch.softmax(torch.cat([scores, nothing], dim=-1), dim=-1)[..., :-1]
        attended = util.weighted_sum(encoded, shares)
        return functional.relu(self._self_merge(torch.cat([attended, encoded, encoded * attended], dim=-1)))

    def _loss(
        self, logits: Dict[str, torch.Tensor], best: torch.Tensor, span_start: torch.Tensor, span_end: torch.Tensor
    ) -> torch.Tensor:
        span = torch.cat([span_start, span_end], dim=-1)
        self._span_accuracy(best, span)
        loss = best.new_zeros((), dtype=torch.float32)
        for index, (values, accuracy) in enumerate(zip(logits.values(), self._accuracies.values())):
            accuracy(values, span[:, index])
            loss = loss + functional.cross_entropy(values, span[:, index])
        return loss

    def _answers(self, spans: List[List[int]], metadata: List[Dict[str, Any]]) -> Dict[str, List[Any]]:
        texts = []
        for (first, last), about in zip(spans, metadata):
            offsets = about["token_offsets"]
            texts.append(about["original_passage"][offsets[first][0] : offsets[last][1]])
            if about.get("answer_texts"):
                self._squad(texts[-1], about["answer_texts"])
        names = ("question_tokens", "passage_tokens", "token_offsets")
        return {"best_span_str": texts, **{name: [about[name] for about in metadata] for name in names}}

    @overrides
    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        exact, f1 = self._squad.get_metric(reset)
        scores = {name: accuracy.get_metric(reset) for name, accuracy in self._accuracies.items()}
        return {**scores, "span_acc": self._span_accuracy.get_metric(reset), "em": exact, "f1": f1}


def best_spans(start_scores: torch.Tensor, end_scores: torch.Tensor, max_length: int) -> torch.Tensor:
    """
    Find the spans whose two scores add up to most, of at most `max_length` tokens.

    # Parameters

    start_scores, end_scores : `(batch, tokens)`, very small at padding.

    # Returns

    `(batch, 2)`: the first and the last token.
    """
    tokens = start_scores.shape[1]
    sums = start_scores.unsqueeze(2) + end_scores.unsqueeze(1)  # (batch, start, end)
    allowed = torch.ones_like(sums[0], dtype=torch.bool).triu().tril(max_length - 1)
    best = sums.masked_fill(~allowed, -float("inf")).flatten(1).argmax(dim=1)
    return torch.stack([torch.div(best, tokens, rounding_mode="floor"), best % tokens], dim=1)


def _masked(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    # Half of the smallest number, so that two of them add up to a finite one.
    return scores.masked_fill(~mask, util.min_value_of_dtype(scores.dtype) / 2)
