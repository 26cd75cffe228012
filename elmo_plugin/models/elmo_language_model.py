"""Pre-training and evaluation of the biLM as an AllenNLP model."""

import math
from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Sequence

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import is_distributed
from allennlp.data import Vocabulary
from allennlp.models import Model
from overrides import overrides
from torch import distributed
from torch.nn import functional

from elmo_plugin.adapters.weight_sources import find_weights
from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.errors import ShapeError
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.engine.softmax import LanguageModelSoftmax
from elmo_plugin.engine.stream_state import StreamStates
from elmo_plugin.engine.warm import mean_state, sentences_to_ids
from elmo_plugin.engine.words import SPECIAL_WORDS, UNKNOWN_WORD
from elmo_plugin.formats.record import EXTRA_STATE, BiLmRecord
from elmo_plugin.formats.weight_set import WeightSet

DIRECTIONS = ("forward", "backward")
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
    dropout : on the input of every LSTM layer and on the output.
    loss_scale : factor on the loss that is differentiated. bilm-tf takes its gradient of loss * unroll_steps, which
        matters together with its clip of the gradient's norm and Adagrad's initial accumulator.
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
        dropout: float = 0.1,
        loss_scale: float = 1.0,
        backend: str = "auto",
        vocabulary_namespace: str = "elmo_lm",
        serialization_dir: Optional[str] = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, serialization_dir=serialization_dir, **kwargs)
        self.words = _words(vocab, vocabulary_namespace)
        if (options is None) == (weights is None):
            raise ConfigurationError(f"{_WHERE}: give either the options of a new biLM, or the weights to train on.")
        start = None if weights is None else _starting_weights(weights, self.words, new_softmax, serialization_dir)
        self.options = BiLmOptions.from_dict(options or {}, source=_WHERE) if start is None else start.options
        self._source = _WHERE if weights is None else weights
        if self.options.n_tokens_vocab not in (None, len(self.words)):
            raise ConfigurationError(
                f"{_WHERE}: the options say n_tokens_vocab {self.options.n_tokens_vocab}, but the vocabulary has "
                f"{len(self.words)} words in {vocabulary_namespace!r}. Set n_tokens_vocab to that, or use the "
                "vocabulary that the options were made for."
            )
        self.bilm = BiLm(self.options, backend=backend, state="reset", fine_tune=True)
        self.softmax = LanguageModelSoftmax(len(self.words), self.options.lstm.projection_dim, n_negative_samples)
        if start is not None:
            self.bilm.load_tensors(start.tensors, start.source)
            if start.softmax is not None:
                self.softmax.load_state_dict(start.softmax)
        self.streams = StreamStates()
        self._unknown = self.words.index(UNKNOWN_WORD)
        self._dropout = dropout
        self._loss_scale = loss_scale
        self._steps = 0
        self._sums: Dict[bool, torch.Tensor] = {}
        self._reset_sums(True)
        self._reset_sums(False)
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
        hidden = self._hidden(words, forward_inputs, backward_inputs)  # (2 * rows * steps, projection)
        targets = torch.stack([forward_targets, backward_targets]).view(2, -1)
        n_tokens = (targets >= 0).sum(1)
        weights = (0.5 / n_tokens.clamp(min=1)).to(hidden.dtype).repeat_interleave(targets.shape[1])
        sampled = self.training and self.softmax.sampler is not None
        softmax = self.softmax.sampled if sampled else self.softmax.full
        loss, per_token = softmax(hidden, targets.view(-1), weights)
        self._check_loss(loss)
        losses = per_token.view(2, -1).sum(1, dtype=torch.float64)
        n_unknown = (targets == self._unknown).sum(1)
        self._sums[self.training] += torch.stack([losses, n_tokens.double(), n_unknown.double()]).cpu()
        return {"loss": loss * self._loss_scale if self.training else loss}

    def _hidden(self, words: torch.Tensor, forward: torch.Tensor, backward: torch.Tensor) -> torch.Tensor:
        vectors = self.bilm.token_encoder.encode(words)  # (distinct, projection)
        dropout = self._dropout if self.training else 0.0
        outputs = self.bilm.lstm.run_streams(
            functional.embedding(forward, vectors),
            functional.embedding(backward, vectors),
            self.streams.get(self.training, rows=len(forward), like=vectors),
            dropout,
        )
        self.streams.put(self.training, outputs[2])
        hidden = torch.cat([output.reshape(-1, output.shape[-1]) for output in outputs[:2]])
        return functional.dropout(hidden, dropout, self.training)

    def _check_words(self, words: torch.Tensor) -> None:
        expected = self.options.max_characters_per_token
        found = words.shape[1] if words.dim() == 2 else None
        if found != expected:
            raise ShapeError(
                f"{_WHERE}: words have {found or 'no'} characters (shape {tuple(words.shape)}), but the biLM expects "
                f"{expected or 'word ids'}. Set max_characters_per_token (or word_level) of the reader 'elmo_corpus'."
            )

    def _check_loss(self, loss: torch.Tensor) -> None:
        self._steps += self.training
        value = float(loss.detach())
        if not math.isfinite(value):
            where = f"training step {self._steps} of this run" if self.training else "evaluation"
            raise FloatingPointError(
                f"{_WHERE}: the loss is {value} in {where}, expected a finite number. Lower the learning rate or "
                "the clip of the gradient's norm (trainer.grad_norm), and go on from the last checkpoint: --recover."
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
        sums = self._sums[self.training]
        if reset and is_distributed():
            sums = sums.to(self.softmax.weight.device)  # the processes of GPUs exchange nothing that is on the CPU
            distributed.all_reduce(sums)
        losses, counts, unknown = sums.tolist()
        means = [loss / max(1.0, count) for loss, count in zip(losses, counts)]
        if self.training:
            kind = "loss" if self.softmax.sampler is None else "sampled_loss"
            metrics = {f"{kind}_{name}": mean for name, mean in zip(DIRECTIONS, means)}
        else:
            metrics = {f"perplexity_{name}": _exp(mean) for name, mean in zip(DIRECTIONS, means)}
            metrics["perplexity"] = _exp(sum(means) / 2)
            metrics["tokens"] = counts[0]
            metrics["unknown_rate"] = unknown[0] / max(1.0, counts[0])
        if reset:
            self._reset_sums(self.training)
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
            state = mean_state(self.bilm, sentences_to_ids(self.bilm, ordinary_text, self.words))
            tensors.update({"warm.hidden": state.hidden[:, 0].clone(), "warm.cell": state.cell[:, 0].clone()})
        return WeightSet(
            options=self.options,
            tensors=tensors,
            softmax={name: tensor.detach().clone() for name, tensor in self.softmax.state_dict().items()},
            vocabulary=list(self.words),
            source=source,
        )

    def get_extra_state(self) -> torch.Tensor:
        """Say in the checkpoint which biLM it holds, so that an archive can be used and exported as weights."""
        softmax = {"weight": "softmax.weight", "bias": "softmax.bias"}
        return BiLmRecord(self.options, self._source, vocabulary=self.words, softmax=softmax).to_tensor()

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

    def _reset_sums(self, training: bool) -> None:
        # [summed loss, tokens, unknown tokens] x [forward, backward]
        self._sums[training] = torch.zeros(3, 2, dtype=torch.float64)


def _words(vocab: Vocabulary, namespace: str) -> List[str]:
    index: Mapping[int, str] = vocab.get_index_to_token_vocabulary(namespace)
    words = [index[i] for i in range(len(index))]
    if tuple(words[: len(SPECIAL_WORDS)]) != SPECIAL_WORDS or len(words) == len(SPECIAL_WORDS):
        raise ConfigurationError(
            f"{_WHERE}: the vocabulary namespace {namespace!r} starts with {words[:4]} and has {len(words)} entries; "
            f"expected {', '.join(SPECIAL_WORDS)} and words by falling frequency. Use the vocabulary "
            '{"type": "elmo_corpus", "corpus": ...}.'
        )
    return words


def _starting_weights(weights: str, words: List[str], new_softmax: bool, serialization_dir: Optional[str]) -> WeightSet:
    """Read a biLM to train on; its softmax, if it is kept, must be that of the vocabulary."""
    found = find_weights(weights, serialization_dir=serialization_dir, softmax=True)
    if new_softmax:
        return _without_softmax(found, len(words))
    if found.softmax is None:
        raise ConfigurationError(
            f'{_WHERE}: {weights} comes without a softmax. Train one first, with "new_softmax": true and the biLM '
            "frozen (experiments/finetuning/softmax.jsonnet), and go on from the archive of that training."
        )
    n_words = len(found.softmax["bias"])
    if n_words != len(words) or found.vocabulary not in (None, words):
        raise ConfigurationError(
            f"{_WHERE}: the vocabulary has {len(words)} words, but the softmax of {weights} is over {n_words} others. "
            'Keep the vocabulary of the biLM: "vocabulary": {"type": "elmo_corpus", "weights": ...}.'
        )
    return found


def _without_softmax(found: WeightSet, n_words: int) -> WeightSet:
    options = found.options
    if options.n_tokens_vocab is not None and not options.is_word_level:
        options = replace(options, n_tokens_vocab=n_words)  # a remark of the last training
    return replace(found, options=options, softmax=None, vocabulary=None)


def _exp(loss: float) -> float:
    return math.exp(loss) if loss < 700 else math.inf
