from elmo_plugin.callbacks.elmo_epochs import ElmoEpochs  # noqa: F401
from elmo_plugin.callbacks.elmo_export import ElmoExport  # noqa: F401
from elmo_plugin.callbacks.elmo_fast_forward import ElmoFastForward  # noqa: F401
from elmo_plugin.callbacks.elmo_layer_weights import ElmoLayerWeights  # noqa: F401
from elmo_plugin.callbacks.elmo_progress import ElmoProgress  # noqa: F401
from elmo_plugin.callbacks.elmo_resume import ElmoResume  # noqa: F401
