"""Pre-training and evaluation of the biLM as an AllenNLP model."""

import math
from typing import Any, Dict, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.models import Model
from overrides import overrides
from torch.nn import functional

from elmo_plugin.corpus.word_table import SPECIALS
from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.lstm import LstmState
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.engine.softmax import LanguageModelSoftmax

DIRECTIONS = ("forward", "backward")


@Model.register("elmo_language_model")
class ElmoLanguageModel(Model):
    """
    Predict the next word in both directions, with one token encoder and one softmax for both, as bilm-tf.

    In training: sampled softmax, dropout, state carried along each row and cut from the graph after each batch. In
    evaluation: full softmax, a state of its own that starts at zero; perplexities are weighted by tokens.

    # Parameters

    options : the biLM, in the layout of options.json.
    n_negative_samples : of the sampled softmax in training; `None` trains with the full softmax.
    dropout : on the input of every LSTM layer and on the output.
    loss_scale : factor on the loss that is differentiated; bilm-tf takes its gradient of loss * unroll_steps, which matters
        together with its clip of the gradient's norm and Adagrad's initial accumulator.
    backend : of the engine.
    vocabulary_namespace : where the language model's vocabulary is.

    Registered as "elmo_language_model".
    """

    def __init__(
        self,
        vocab: Vocabulary,
        options: Dict[str, Any],
        n_negative_samples: Optional[int] = 8192,
        dropout: float = 0.1,
        loss_scale: float = 1.0,
        backend: str = "auto",
        vocabulary_namespace: str = "elmo_lm",
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, **kwargs)
        n_words = vocab.get_vocab_size(vocabulary_namespace)
        if n_words <= len(SPECIALS):
            raise ConfigurationError(
                f"model 'elmo_language_model': {n_words} words in the vocabulary namespace {vocabulary_namespace!r}; "
                'expected <S>, </S>, <UNK> and words. Use the vocabulary {"type": "elmo_corpus", "corpus": ...}.'
            )
        self._namespace = vocabulary_namespace
        self.options = BiLmOptions.from_dict(options, source="model 'elmo_language_model'")
        self.bilm = BiLm(self.options, backend=backend, fine_tune=True)
        self.softmax = LanguageModelSoftmax(n_words, self.options.lstm.projection_dim, n_negative_samples)
        self._dropout = dropout
        self._loss_scale = loss_scale
        self._states: Dict[bool, Optional[LstmState]] = {True: None, False: None}  # by training
        self._steps = 0
        self._sums: Dict[bool, torch.Tensor] = {}
        self._reset_sums(True)
        self._reset_sums(False)

    @overrides(check_signature=False)
    def forward(
        self,
        words: torch.Tensor,
        forward_inputs: torch.Tensor,
        backward_inputs: torch.Tensor,
        forward_targets: torch.Tensor,
        backward_targets: torch.Tensor,
    ) -> Dict[str, torch.Tensor]:
        """
        Run one cut of the streams.

        # Parameters

        words : `(distinct, characters)` or `(distinct,)`: inputs of the distinct words of the batch.
        forward_inputs, backward_inputs : `(rows, steps)` indices into `words`.
        forward_targets, backward_targets : `(rows, steps)` indices into the vocabulary; negative is ignored.

        # Returns

        `loss` : mean of both directions' token cross-entropies, in training times `loss_scale`.
        """
        hidden = self._hidden(words, forward_inputs, backward_inputs)  # (2 * rows * steps, P)
        targets = torch.cat([forward_targets.reshape(-1), backward_targets.reshape(-1)])
        n_tokens = (targets.view(2, -1) >= 0).sum(1)
        weights = (0.5 / n_tokens.clamp(min=1)).to(hidden.dtype).repeat_interleave(forward_targets.numel())
        sampled = self.training and self.softmax.sampler is not None
        loss, per_token = (self.softmax.sampled if sampled else self.softmax.full)(hidden, targets, weights)
        self._check(loss)
        sums = per_token.view(2, -1).sum(1, dtype=torch.float64)
        self._sums[self.training] += torch.stack([sums, n_tokens.to(sums.dtype)]).to(self._sums[self.training].device)
        return {"loss": loss * self._loss_scale if self.training else loss}

    def _hidden(self, words: torch.Tensor, forward: torch.Tensor, backward: torch.Tensor) -> torch.Tensor:
        vectors = self.bilm.token_encoder.encode(words)  # (distinct, P)
        dropout = self._dropout if self.training else 0.0
        state = self._states[self.training]
        if state is not None and state.hidden.shape[1] != len(forward):
            state = None
        outputs = self.bilm.lstm.run_streams(
            functional.embedding(forward, vectors), functional.embedding(backward, vectors), state, dropout
        )
        self._states[self.training] = outputs[2].detach()
        hidden = torch.cat([output.reshape(-1, output.shape[-1]) for output in outputs[:2]])
        return functional.dropout(hidden, dropout, self.training)

    def _check(self, loss: torch.Tensor) -> None:
        self._steps += self.training
        if not math.isfinite(float(loss.detach())):
            where = f"training step {self._steps} of this run" if self.training else "evaluation"
            raise FloatingPointError(
                f"language model: the loss is {float(loss.detach())} in {where}; expected a finite number. Lower the "
                "learning rate or the clip of the gradient norm, and go on from the last checkpoint with --recover."
            )

    @overrides
    def train(self, mode: bool = True) -> "ElmoLanguageModel":
        if not mode:
            self._states[False] = None  # each evaluation starts at zero; the state of training waits
        return super().train(mode)

    @overrides
    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        """Return perplexities in evaluation; in training the (sampled) losses, which are no perplexities."""
        sums, counts = self._sums[self.training].tolist()
        losses = [total / max(1.0, count) for total, count in zip(sums, counts)]
        if self.training:
            kind = "loss" if self.softmax.sampler is None else "sampled_loss"
            metrics = {f"{kind}_{name}": loss for name, loss in zip(DIRECTIONS, losses)}
        else:
            metrics = {f"perplexity_{name}": math.exp(loss) for name, loss in zip(DIRECTIONS, losses)}
            metrics["perplexity"] = math.exp(sum(losses) / 2)
            metrics["tokens"] = counts[0]
        if reset:
            self._reset_sums(self.training)
            if not self.training:
                self._states[False] = None
        return metrics

    def _reset_sums(self, training: bool) -> None:
        self._sums[training] = torch.zeros(2, 2, dtype=torch.float64)  # [summed loss, tokens] x [forward, backward]

    default_predictor = None
