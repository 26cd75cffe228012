"""Packaging of elmo_plugin; tool settings are in pyproject.toml, pinned environments in requirements/."""

import platform
import re
from pathlib import Path

from setuptools import Extension, find_packages, setup

ROOT = Path(__file__).parent
VERSION = re.search(r'__version__ = "(.+)"', (ROOT / "elmo_plugin" / "__init__.py").read_text()).group(1)

ALLENNLP = [
    "allennlp>=2.10.1,<2.11",
    "allennlp-models>=2.10.1,<2.11",
    # AllenNLP's own torch 1.12, all that its pins allow, predates NumPy 2.
    "numpy<2 ; python_version < '3.11'",
    # NLTK 3.10 refuses corpus files outside its data folder; py-rouge imports pkg_resources, gone from setuptools 81.
    "nltk<3.10",
    "setuptools<81",
    # Without it AllenNLP reads .jsonnet files as plain JSON.
    "jsonnet>=0.10",
    "overrides>=3.1",
    "rich>=10",
]

# Kernels of the biLM in C++, for x86-64 with AVX2. Where they cannot be built, the package goes without them: see
# docs/cpu.md.
KERNELS = "elmo_plugin/engine/backends/compiled"
COMPILED = Extension(
    "elmo_plugin.engine.backends.compiled._kernels",
    [f"{KERNELS}/kernels.cpp"],
    depends=[f"{KERNELS}/{name}.h" for name in ("vectors", "products", "int8_products", "plain_products")],
    extra_compile_args=["-O3", "-std=c++17", "-mavx2", "-mfma", "-mf16c"],
    optional=True,
)
HAS_COMPILED = platform.system() in ("Linux", "Darwin") and platform.machine() == "x86_64"

setup(
    name="elmo_plugin",
    version=VERSION,
    description="ELMo for AllenNLP: exact, fast, trainable, and at home on today's Python and PyTorch",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    keywords="ELMo AllenNLP NLP embeddings language-model biLM",
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Science/Research",
        "Operating System :: OS Independent",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.8",
        "Programming Language :: Python :: 3.9",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
    packages=find_packages(include=["elmo_plugin", "elmo_plugin.*"]),
    package_data={"elmo_plugin": ["pretrained/*", "pretrained/*/*", "explorer/_page/assets/*"]},
    ext_modules=[COMPILED] if HAS_COMPILED else [],
    python_requires=">=3.8",
    # The engine needs torch and numpy; the weight files need the other two.
    install_requires=["torch>=1.12", "numpy", "h5py", "safetensors"],
    # AllenNLP is an extra because its own pins cannot be met on Python 3.11 and later: see docs/installation.md.
    extras_require={
        "allennlp": ALLENNLP,
        "cache": ["lmdb"],  # AllenNLP brings it too
        "parquet": ["pyarrow>=12"],
        "ray": ["ray[data]>=2.9"],  # brings pyarrow too
        "neighbors": ["faiss-cpu>=1.7.3"],  # for allennlp elmo-neighbors and elmo-probes
        "explorer": ["dash>=4", "waitress>=3", "faiss-cpu>=1.7.3"],  # for allennlp elmo-explore
        "plots": ["matplotlib>=3.5"],  # for allennlp elmo-tables and elmo-benchmark --plot
        "vectors": ["gensim>=4"],  # for allennlp elmo-tables vectors
        "test": ["hypothesis", "pytest", "pytest-timeout", "pytest-xdist"],
        "lint": ["mypy", "ruff"],
    },
    entry_points={"console_scripts": ["elmo-plugin = elmo_plugin.__main__:run"]},
)
