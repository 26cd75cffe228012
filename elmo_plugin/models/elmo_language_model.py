"""Pre-training and evaluation of the biLM as an AllenNLP model."""

import math
from typing import Any, Dict, List, Optional, Sequence, Union, cast

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import is_distributed
from allennlp.data import Vocabulary
from allennlp.models import Model
from overrides import overrides
from torch import distributed
from torch.nn import functional

from elmo_plugin.adapters.checkpoints import last_finite
from elmo_plugin.engine.adaptive_softmax import AdaptiveSoftmax
from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.direction_scores import DirectionScores
from elmo_plugin.engine.errors import ShapeError
from elmo_plugin.engine.lstm import LstmState
from elmo_plugin.engine.sentence_ids import SentenceIds
from elmo_plugin.engine.softmax import LanguageModelSoftmax
from elmo_plugin.engine.state import CARRIED, RESET, WARM, check_policy
from elmo_plugin.engine.stream_state import StreamStates
from elmo_plugin.engine.warm import mean_state
from elmo_plugin.engine.words import UNKNOWN_WORD
from elmo_plugin.formats.record import EXTRA_STATE, BiLmRecord
from elmo_plugin.formats.weight_set import WeightSet
from elmo_plugin.models._starting_weights import starting_options, starting_weights, vocabulary_words

_WHERE = "model 'elmo_language_model'"


@Model.register("elmo_language_model")
class ElmoLanguageModel(Model):
    """
    Predict the next word in both directions, with one token encoder and one softmax for both, as bilm-tf.

    In training: sampled softmax, dropout, state carried along each row and cut from the graph after each batch. In
    evaluation: full softmax, a state of its own that starts at zero; perplexities are weighted by tokens.

    # Parameters

    options : the biLM, in the layout of options.json. Its keys that describe a training are kept for the export only.
    weights : instead of `options`: the biLM to train on, as the token embedder `elmo` names it, with its softmax.
    new_softmax : with `weights`: begin with a new softmax over the words of the vocabulary, where the weights come
        without one. Train it first, with the rest frozen: `"trainer": {"no_grad": ["^bilm\\."]}`.
    n_negative_samples : of the sampled softmax in training; `None` trains with the full softmax.
    adaptive_cutoffs : an adaptive softmax in place of both, with the words in clusters that begin here; together with
        `n_negative_samples: null`. Weight files have no place for it.
    dropout : on the input of every LSTM layer and on the output.
    loss_scale : factor on the loss that is differentiated. bilm-tf takes its gradient of loss * unroll_steps, which
        matters together with its clip of the gradient's norm and Adagrad's initial accumulator.
    state : where each batch begins: "carried" (each row goes on where its last one ended), "reset" (at zero) or "warm"
        (at the warm state of `weights`).
    backend : of the engine.
    vocabulary_namespace : where the language model's vocabulary is.

    Registered as "elmo_language_model".
    """

    def __init__(
        self,
        vocab: Vocabulary,
        options: Optional[Dict[str, Any]] = None,
        weights: Optional[str] = None,
        new_softmax: bool = False,
        n_negative_samples: Optional[int] = 8192,
        adaptive_cutoffs: Optional[List[int]] = None,
        dropout: float = 0.1,
        loss_scale: float = 1.0,
        state: str = CARRIED,
        backend: str = "auto",
        vocabulary_namespace: str = "elmo_lm",
        serialization_dir: Optional[str] = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, serialization_dir=serialization_dir, **kwargs)
        self.words = vocabulary_words(vocab, vocabulary_namespace, _WHERE)
        start = None
        if weights is not None and options is None:
            start = starting_weights(weights, self.words, new_softmax, serialization_dir, _WHERE)
        self.options = starting_options(options, weights, new_softmax, start, self.words, _WHERE)
        self._source = _WHERE if weights is None else weights
        self._folder = serialization_dir
        self._state = check_policy(state)
        engine_state = WARM if state == WARM else RESET
        self.bilm = BiLm(self.options, backend=backend, state=engine_state, fine_tune=True)
        has_softmax = start is not None and start.softmax is not None
        self.softmax = self._make_softmax(n_negative_samples, adaptive_cutoffs, has_softmax)
        if start is not None:
            self.bilm.load_tensors(start.tensors, start.source)
            if start.softmax is not None:
                self.softmax.load_state_dict(start.softmax)
        if self.bilm.warm is not None and not self.bilm.warm.is_set:
            raise ConfigurationError(f'{_WHERE}: state "warm" needs weights that bring a warm state; found none.')
        self.streams = StreamStates()
        self._scores = {training: DirectionScores(self.words.index(UNKNOWN_WORD)) for training in (True, False)}
        self._dropout = dropout
        self._loss_scale = loss_scale
        self._register_load_state_dict_pre_hook(self._add_record)

    @overrides(check_signature=False)
    def forward(
        self,
        words: torch.Tensor,
        forward_inputs: Optional[torch.Tensor] = None,
        backward_inputs: Optional[torch.Tensor] = None,
        forward_targets: Optional[torch.Tensor] = None,
        backward_targets: Optional[torch.Tensor] = None,
    ) -> Dict[str, torch.Tensor]:
        """
        Run one cut of the streams.

        # Parameters

        words : `(distinct, characters)` or `(distinct,)`: inputs of the distinct words of the batch.
        forward_inputs, backward_inputs : `(rows, steps)` indices into `words`.
        forward_targets, backward_targets : `(rows, steps)` indices into the vocabulary; negative is ignored.

        # Returns

        `loss` : mean of both directions' mean token cross-entropies, in training times `loss_scale`.

        # Raises

        `ConfigurationError` for a batch of another data loader, `ShapeError` for words of another biLM.
        """
        if forward_inputs is None or backward_inputs is None or forward_targets is None or backward_targets is None:
            raise ConfigurationError(
                f"{_WHERE}: the batch holds single sentences, expected streams of text. Give the data loaders "
                '"type": "elmo_corpus".'
            )
        self._check_words(words)
        targets = torch.stack([forward_targets, backward_targets]).view(2, -1)
        n_tokens = (targets >= 0).sum(1)
        hidden = self._hidden(words, forward_inputs, backward_inputs, forward_targets)
        weights = (0.5 / n_tokens.clamp(min=1)).to(hidden.dtype).repeat_interleave(targets.shape[1])
        if self.training and self._is_sampled:
            loss, per_token = cast(LanguageModelSoftmax, self.softmax).sampled(hidden, targets.view(-1), weights)
        else:
            loss, per_token = self.softmax.full(hidden, targets.view(-1), weights)
        self._check_loss(loss, forward_targets)
        self._scores[self.training].add(per_token.view(2, -1), targets)
        return {"loss": loss * self._loss_scale if self.training else loss}

    def _hidden(
        self, words: torch.Tensor, forward: torch.Tensor, backward: torch.Tensor, targets: torch.Tensor
    ) -> torch.Tensor:
        """Outputs of both directions, `(2 * rows * steps, projection)`."""
        vectors = self.bilm.encode_words(words)  # (distinct, projection)
        dropout = self._dropout if self.training else 0.0
        lengths = (targets >= 0).sum(1).tolist()
        # A batch without a token, of a process whose text has ended before that of others, still takes part.
        is_empty = not any(lengths)
        outputs = self.bilm.lstm.run_streams(
            functional.embedding(forward, vectors),
            functional.embedding(backward, vectors),
            self._begin(len(forward), vectors),
            dropout,
            None if is_empty else lengths,
        )
        if not is_empty:
            self.streams.put(self.training, outputs[2])
        hidden = torch.cat([output.reshape(-1, output.shape[-1]) for output in outputs[:2]])
        return functional.dropout(hidden, dropout, self.training)

    def _begin(self, rows: int, like: torch.Tensor) -> Optional[LstmState]:
        if self._state == CARRIED:
            return self.streams.get(self.training, rows, like)
        return None if self.bilm.warm is None else self.bilm.warm.state(rows, like)

    @property
    def _is_sampled(self) -> bool:
        return isinstance(self.softmax, LanguageModelSoftmax) and self.softmax.sampler is not None

    def _make_softmax(
        self, n_negative_samples: Optional[int], adaptive_cutoffs: Optional[List[int]], has_softmax: bool
    ) -> Union[LanguageModelSoftmax, AdaptiveSoftmax]:
        dim = self.options.lstm.projection_dim
        if adaptive_cutoffs is None:
            return LanguageModelSoftmax(len(self.words), dim, n_negative_samples)
        if n_negative_samples is not None:
            raise ConfigurationError(
                f"{_WHERE}: adaptive_cutoffs {adaptive_cutoffs} and n_negative_samples {n_negative_samples} ask for "
                "two kinds of softmax. Set n_negative_samples to null for the adaptive one."
            )
        if has_softmax:
            raise ConfigurationError(
                f"{_WHERE}: the softmax of {self._source} cannot become an adaptive one. Leave adaptive_cutoffs out, "
                "or begin with a new softmax (new_softmax)."
            )
        return AdaptiveSoftmax(len(self.words), dim, adaptive_cutoffs)

    def _check_words(self, words: torch.Tensor) -> None:
        expected = self.options.max_characters_per_token
        found = words.shape[1] if words.dim() == 2 else None
        if found != expected:
            raise ShapeError(
                f"{_WHERE}: words have {found or 'no'} characters (shape {tuple(words.shape)}), but the biLM expects "
                f"{expected or 'word ids'}. Set max_characters_per_token (or word_level) of the reader 'elmo_corpus'."
            )

    def _check_loss(self, loss: torch.Tensor, targets: torch.Tensor) -> None:
        value = float(loss.detach())
        if math.isfinite(value):
            return
        first = [self.words[index] for index in targets[0].tolist() if index >= 0]
        where = f"training step {self.streams.steps}" if self.training else "evaluation"
        advice = ""
        if self.training:
            good = None if self._folder is None else last_finite(self._folder)
            advice = (
                f" The last good checkpoint is {good or 'none'}. Begin a new training from it (the model's weights in "
                "place of its options) with a lower learning rate or clip of the gradient's norm (trainer.grad_norm)."
            )
        raise FloatingPointError(
            f"{_WHERE}: the loss is {value} in {where}, in the batch whose first row ends in "
            f"{' '.join(first[-8:])!r}; expected a finite number.{advice}"
        )

    @overrides
    def train(self, mode: bool = True) -> "ElmoLanguageModel":
        """Switch between training and evaluation; each evaluation starts at zero, the training state waits."""
        if not mode:
            self.streams.reset(training=False)
        return super().train(mode)

    @overrides
    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        """
        Report both directions: losses in training, perplexities in evaluation.

        The loss of a sampled softmax is called `sampled_loss_*`, for its exponential is no perplexity. Perplexities are
        exponentials of the mean over all tokens since the last reset, `perplexity` of the mean of both directions.
        """
        scores = self._scores[self.training]
        if reset and is_distributed():
            # the processes of GPUs exchange nothing that is on the CPU
            sums = scores.sums.to(next(self.parameters()).device)
            distributed.all_reduce(sums)
            scores.sums = sums.cpu()
        if self.training:
            metrics = scores.losses("sampled_loss" if self._is_sampled else "loss")
        else:
            metrics = scores.perplexities()
        metrics.update(scores.counts())
        if reset:
            scores.reset()
            if not self.training:
                self.streams.reset(training=False)
        return metrics

    def weight_set(self, source: str = _WHERE, ordinary_text: Optional[Sequence[Sequence[str]]] = None) -> WeightSet:
        """
        Take the biLM, its softmax and its vocabulary out, for `elmo_plugin.formats.write_weights`.

        # Parameters

        source : what to call the weights in messages.
        ordinary_text : sentences of the text that was trained on; with them the weights get a warm state.
        """
        tensors = {name: tensor.detach().clone() for name, tensor in self.bilm.state_dict().items()}
        if ordinary_text is not None:
            state = mean_state(self.bilm, SentenceIds(self.bilm, self.words)(ordinary_text))
            tensors.update({"warm.hidden": state.hidden[:, 0].clone(), "warm.cell": state.cell[:, 0].clone()})
        return WeightSet(
            options=self.options,
            tensors=tensors,
            softmax=self._plain_softmax(),
            vocabulary=list(self.words),
            source=source,
        )

    def get_extra_state(self) -> torch.Tensor:
        """Say in the checkpoint which biLM it holds, so that an archive can be used and exported as weights."""
        is_plain = isinstance(self.softmax, LanguageModelSoftmax)
        softmax = {"weight": "softmax.weight", "bias": "softmax.bias"} if is_plain else None
        return BiLmRecord(self.options, self._source, vocabulary=self.words, softmax=softmax).to_tensor()

    def _plain_softmax(self) -> Optional[Dict[str, torch.Tensor]]:
        """The softmax as weight files have it; None of an adaptive one."""
        if not isinstance(self.softmax, LanguageModelSoftmax):
            return None
        return {name: tensor.detach().clone() for name, tensor in self.softmax.state_dict().items()}

    def set_extra_state(self, state: torch.Tensor) -> None:
        """Refuse the checkpoint of another biLM."""
        record = BiLmRecord.from_tensor(state, _WHERE)
        if record.vocabulary != self.words:
            raise ConfigurationError(
                f"{_WHERE}: the checkpoint was trained with another vocabulary ({len(record.vocabulary or [])} words) "
                f"than the configuration's ({len(self.words)} words). Train on with the same vocabulary."
            )

    def _add_record(self, state: Dict[str, Any], prefix: str, *_: Any) -> None:
        """Accept checkpoints without a record."""
        state.setdefault(prefix + EXTRA_STATE, self.get_extra_state())
