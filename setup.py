"""Builds the optional C runtime; everything else about the project is in pyproject.toml."""

import glob

import numpy
from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "theano.native._runtime",
            sources=sorted(glob.glob("theano/native/runtime/*.c")),
            depends=sorted(glob.glob("theano/native/runtime/*.h") + glob.glob("theano/native/runtime/*.def")),
            include_dirs=["theano/native/runtime", numpy.get_include()],
            extra_compile_args=[
                "-std=gnu11",
                "-O3",
                "-fno-math-errno",
                "-falign-functions=64",
                "-Wall",
                "-Wextra",
                "-fvisibility=hidden",
                "-g0",
            ],
            extra_link_args=["-pthread"],
            optional=True,
        )
    ]
)
