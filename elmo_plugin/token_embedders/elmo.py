"""The token embedder: ELMo vectors for the tokens of a text field."""

from typing import Any, Dict, List, Optional, Union

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.token_embedders import TokenEmbedder
from overrides import overrides
from torch import nn

from elmo_plugin.adapters.embedder_checks import check_mixes, check_numbers
from elmo_plugin.adapters.layer_cache import open_cache
from elmo_plugin.adapters.old_names import choose, rename_old_state
from elmo_plugin.adapters.weight_sources import find_weights, source_name
from elmo_plugin.engine import characters
from elmo_plugin.engine.backends.base import FLOAT32
from elmo_plugin.engine.bilm import BiLm, BiLmOutput
from elmo_plugin.engine.elmo import Elmo
from elmo_plugin.engine.options import BiLmOptions
from elmo_plugin.engine.scalar_mix import ScalarMix
from elmo_plugin.engine.warm import warm_up
from elmo_plugin.engine.word_cache import MEGABYTES
from elmo_plugin.formats.record import BiLmRecord
from elmo_plugin.formats.weight_set import WeightSet

_BILM = "elmo.bilm."


@TokenEmbedder.register("elmo")
class ElmoEmbedder(TokenEmbedder):
    """
    Mix the layers of a biLM into vectors per token (Peters et al. 2018, section 3.2).

    Takes every parameter of AllenNLP's `elmo_token_embedder` too, with its old meaning and default; a parameter that
    has an old and a new name may be given under either. Registered as "elmo".

    # Parameters

    weights : the biLM: a name ("builtin", the default, is the small one of this package), a folder, a file, an
        AllenNLP archive, or a URL.
    num_mixes : mixes with weights of their own, side by side in the last dimension of the output. A model that uses
        ELMo at its input and at its output needs two; see the encoder `elmo_output`.
    layers : "all", "last", the number of one layer (0 is the token layer), or a list of numbers. Gamma trains
        whatever the layers are.
    layer_norm : false; true or "batch", the paper's form, which pools over all tokens of the batch; or "token", which
        does not let a sentence's vectors depend on its batch mates.
    dropout : on the vectors, in training.
    fine_tune : train the biLM. Where it is false no graph is kept through it.
    state : "carried", where each call goes on from the last one, as in the paper and in AllenNLP; "reset"; or "warm".
    backend : "auto", or the name of a backend, which is then used or refused.
    cache : a folder where the layers of sentences are kept, so that a frozen biLM computes each sentence once in all
        epochs, runs and experiments; or `{"folder": ..., "dtype": "float16", "max_gigabytes": 16}`, see
        `elmo_plugin.engine.layer_cache`. Needs state "reset" or "warm". An archive loads without the folder.
    word_cache : megabytes of word vectors that a frozen biLM keeps across batches, so that its character CNN computes a
        word once; 0 for none.
    precision : of the LSTMs' products where no gradient is needed: "float32", which is exact, or "float16" or "int8",
        which are faster on CPUs and round; see docs/cpu.md.
    projection_dim : width of a linear map behind each mix; None for none.
    initial_weights : where the weights of the mixed layers, before the softmax, start to train; zero by default.
    options_file, weight_file : the biLM's files, the old way.
    do_layer_norm : the old name of `layer_norm`.
    requires_grad : the old name of `fine_tune`.
    vocab_to_cache : accepted and not needed: each distinct word of a batch is computed once anyway.
    scalar_mix_parameters : weights of the layers, before the softmax, that do not train, and gamma does not either.
    serialization_dir : passed by AllenNLP; see `elmo_plugin.adapters.weight_sources`.

    # Raises

    `ConfigurationError` where parameters contradict each other, naming both; the errors of reading the weights.
    """

    def __init__(
        self,
        weights: Optional[str] = None,
        num_mixes: int = 1,
        layers: Union[str, int, List[int]] = "all",
        layer_norm: Optional[Union[bool, str]] = None,
        dropout: float = 0.5,
        fine_tune: Optional[bool] = None,
        state: str = "carried",
        backend: str = "auto",
        projection_dim: Optional[int] = None,
        initial_weights: Optional[List[float]] = None,
        options_file: Optional[str] = None,
        weight_file: Optional[str] = None,
        do_layer_norm: Optional[bool] = None,
        requires_grad: Optional[bool] = None,
        vocab_to_cache: Optional[List[str]] = None,
        scalar_mix_parameters: Optional[List[float]] = None,
        serialization_dir: Optional[str] = None,
        cache: Optional[Union[str, Dict[str, Any]]] = None,
        word_cache: float = MEGABYTES,
        precision: str = FLOAT32,
    ) -> None:
        super().__init__()
        check_mixes(num_mixes, layers, initial_weights, scalar_mix_parameters)
        check_numbers(dropout, projection_dim)
        norm = choose("layer_norm", layer_norm, "do_layer_norm", do_layer_norm, False)
        tuned = choose("fine_tune", fine_tune, "requires_grad", requires_grad, False)
        layer_cache = open_cache(cache, state, tuned)
        self._source = source_name(weights, options_file, weight_file)
        found = find_weights(weights, options_file, weight_file, serialization_dir)
        self._vocabulary = found.vocabulary if found.options.needs_vocabulary else None
        # Whatever the biLM, a task's own weights start from the same random numbers.
        with torch.random.fork_rng(devices=[]):
            bilm = BiLm(
                found.options,
                backend=backend,
                state=state,
                fine_tune=tuned,
                word_cache=word_cache,
                precision=precision,
            )
        bilm.load_tensors(found.tensors, source=found.source)
        is_fixed = scalar_mix_parameters is not None
        self.elmo = Elmo(
            bilm,
            num_mixes=num_mixes,
            layers=layers,
            layer_norm={False: "none", True: "batch"}.get(norm, norm),
            dropout=dropout,
            initial_weights=scalar_mix_parameters if is_fixed else initial_weights,
            train_weights=not is_fixed,
            train_gamma=not is_fixed,
            cache=layer_cache,
        )
        self.projections = nn.ModuleList()
        if projection_dim:
            self.projections.extend(nn.Linear(bilm.output_dim, projection_dim) for _ in range(num_mixes))
        self._output_dim = num_mixes * (projection_dim or bilm.output_dim)
        self._needs_warm_state = bilm.warm is not None and not bilm.warm.is_set
        self.prepare()

    @overrides
    def get_output_dim(self) -> int:
        return self._output_dim

    def forward(
        self,
        elmo_tokens: Optional[torch.Tensor] = None,
        word_inputs: Optional[torch.Tensor] = None,
        **others: torch.Tensor,
    ) -> torch.Tensor:
        """
        Embed a batch.

        # Parameters

        elmo_tokens : ids of the token indexer `elmo`: `(batch, ..., tokens, characters)`, or `(batch, ..., tokens)`
            for a word-level biLM; 0 for padding.
        word_inputs : not used; with `vocab_to_cache` AllenNLP's embedder took word ids beside the characters.

        # Returns

        `(batch, ..., tokens, dim)`, the mixes side by side.

        # Raises

        `ShapeError` where the ids cannot be for this biLM, `ConfigurationError` where they come from an indexer that
        is not ELMo's.
        """
        if elmo_tokens is None or others:
            keys = sorted(others) + (["word_inputs"] if word_inputs is not None else [])
            raise ConfigurationError(
                f"the token embedder elmo got {', '.join(keys) or 'nothing'}, expected elmo_tokens. Use the token "
                'indexer "elmo" (or "elmo_characters") under the same key as this embedder.'
            )
        self._check_words(elmo_tokens)
        self.prepare()
        vectors = self.elmo(elmo_tokens).representations
        if self.projections:
            vectors = [projection(vector) for projection, vector in zip(self.projections, vectors)]
        return vectors[0] if len(vectors) == 1 else torch.cat(vectors, dim=-1)

    def raw_layers(self, elmo_tokens: torch.Tensor) -> BiLmOutput:
        """
        Return the layers of the biLM themselves, before any mix, without the sentence boundaries.

        # Parameters

        elmo_tokens : as for `forward`.

        # Returns

        `layers` `(layers, batch, ..., tokens, dim)`, the token layer first, and `mask` `(batch, ..., tokens)`.
        """
        self._check_words(elmo_tokens)
        self.prepare()
        return self.elmo.raw_layers(elmo_tokens)

    def reset_states(self) -> None:
        """Forget the state that earlier calls left behind: the next call starts as the first one did."""
        self.elmo.reset_states()

    def mixing_weights(self) -> List[Dict[str, Any]]:
        """
        Report what the mixes have learned.

        # Returns

        For each mix its "layers", their "weights" behind the softmax, which add up to 1, and "gamma".
        """
        reports: List[Dict[str, Any]] = []
        for mix in self.elmo.mixes:
            assert isinstance(mix, ScalarMix), mix
            shares = mix.normalised_weights().tolist()
            reports.append({"layers": list(self.elmo.layers), "weights": shares, "gamma": mix.gamma.item()})
        return reports

    def weight_set(self) -> WeightSet:
        """
        Give the biLM out, with what fine-tuning made of it, for `elmo_plugin.formats.write_weights`.

        # Returns

        A copy of the biLM, float32, on the CPU.
        """
        self.prepare()
        tensors = {
            name: tensor.detach().to("cpu", torch.float32, copy=True)
            for name, tensor in self.elmo.bilm.state_dict().items()
        }
        return WeightSet(self.elmo.bilm.options, tensors, vocabulary=self._vocabulary, source=self._source)

    @overrides
    def extra_repr(self) -> str:
        return f"weights={self._source!r}, output_dim={self._output_dim}"

    @overrides
    def get_extra_state(self) -> torch.Tensor:
        """The record that makes an archive complete; see `elmo_plugin.formats.record`."""
        record = BiLmRecord(self.elmo.bilm.options, self._source, tensors=_BILM, vocabulary=self._vocabulary)
        return record.to_tensor()

    @overrides
    def set_extra_state(self, state: Any) -> None:
        """Refuse the weights of another biLM, also where their shapes happen to fit."""
        record = BiLmRecord.from_tensor(state, "the saved state of the token embedder elmo")
        saved, ours = record.options, self.elmo.bilm.options
        if (saved.lstm, saved.lexicon, _architecture(saved)) != (ours.lstm, ours.lexicon, _architecture(ours)):
            raise ConfigurationError(
                f"the saved model has a biLM with the options {saved.to_dict()}, but the weights of this configuration "
                f"({self._source}) have {ours.to_dict()}. Use the weights that it was trained with."
            )
        if record.vocabulary != self._vocabulary:
            raise ConfigurationError(
                f"the saved model's biLM ({record.source}) knows other words, or the same ones in another order, than "
                f"the weights of this configuration ({self._source}), from which the token indexer takes their ids. "
                "Use the weights that it was trained with."
            )

    def _save_to_state_dict(self, *arguments: Any) -> None:
        self.prepare()  # a warm state of the weights that were loaded, not of those before
        super()._save_to_state_dict(*arguments)

    def _load_from_state_dict(self, state_dict: Dict[str, Any], prefix: str, *arguments: Any) -> None:
        rename_old_state(state_dict, prefix, self.get_extra_state())
        self._fit_warm_state(state_dict, prefix + _BILM + "warm.")
        super()._load_from_state_dict(state_dict, prefix, *arguments)
        # What was carried belongs to the weights that were there before.
        self.reset_states()

    def _fit_warm_state(self, state_dict: Dict[str, Any], prefix: str) -> None:
        """Let a model that was saved with a warm state be loaded without one, and the other way round."""
        warm = self.elmo.bilm.warm
        if warm is None:
            for name in ("hidden", "cell"):
                state_dict.pop(prefix + name, None)
        elif prefix + "hidden" not in state_dict and any(name.startswith(prefix[:-5]) for name in state_dict):
            state_dict.update({prefix + "hidden": warm.hidden, prefix + "cell": warm.cell})
            self._needs_warm_state = True

    def prepare(self) -> None:
        """Bring up to date what depends on the loaded or tuned weights; whoever runs the biLM itself calls it."""
        bilm = self.elmo.bilm
        # A trainer may freeze and thaw parameters by itself ("no_grad", "_pretrained", gradual unfreezing).
        bilm.fine_tune = any(parameter.requires_grad for parameter in bilm.parameters())
        if self._needs_warm_state:
            warm_up(bilm, vocabulary=self._vocabulary)
            self._needs_warm_state = False

    def _check_words(self, ids: torch.Tensor) -> None:
        """Refuse characters that a word-level biLM would take for the ids of words."""
        if self._vocabulary is None or ids.dim() < 3:
            return
        rows = ids[(ids != 0).any(dim=-1)]
        begins = rows[:, :1] == characters.BEGIN_WORD + 1
        if len(rows) and bool((begins & (rows == characters.END_WORD + 1)).any(dim=-1).all()):
            raise ConfigurationError(
                f"ids of shape {tuple(ids.shape)} look like characters, but the biLM ({self._source}) reads words. "
                f'Give the token indexer "elmo" the parameter "weights": {self._source!r}.'
            )


def _architecture(options: BiLmOptions) -> Any:
    cnn = options.char_cnn
    return options.n_tokens_vocab if cnn is None else (cnn.filters, cnn.activation, cnn.max_characters_per_token)
