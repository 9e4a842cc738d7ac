"""Builds the optional C runtime; everything else about the project is in pyproject.toml."""

import glob
import os
from concurrent.futures import ThreadPoolExecutor

import numpy
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

RUNTIME = "theano/native/target/cpu/runtime"


class ParallelBuild(build_ext):
    """Compiles an extension's files side by side; setuptools takes one after the other."""

    def build_extension(self, ext):
        compile_all = self.compiler.compile

        def compile_each(sources, *args, **options):
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                objects = list(pool.map(lambda source: compile_all([source], *args, **options), sources))
            return [path for paths in objects for path in paths]

        self.compiler.compile = compile_each
        try:
            super().build_extension(ext)
        finally:
            self.compiler.compile = compile_all


setup(
    cmdclass={"build_ext": ParallelBuild},
    ext_modules=[
        Extension(
            "theano.native._runtime",
            sources=sorted(glob.glob(RUNTIME + "/*.c")),
            depends=sorted(glob.glob(RUNTIME + "/*.h") + glob.glob(RUNTIME + "/*.def")),
            include_dirs=[RUNTIME, numpy.get_include()],
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
