"""From graphs to functions: shared variables, functions, modes, and the modes that check and measure."""

from theano import aliases as _aliases
from theano.compile.builders import OpFromGraph
from theano.compile.function_module import (
    AliasedMemoryError,
    Function,
    FunctionMaker,
    Supervisor,
    UnusedInputError,
    alias_root,
    check_equal,
    convert_function_input,
    fgraph_updated_vars,
    get_info_on_inputs,
    infer_reuse_pattern,
    insert_deepcopy,
    orig_function,
    register_checker,
    std_fgraph,
    view_tree_set,
)
from theano.compile.io import In, Out, SymbolicInput, SymbolicOutput
from theano.compile.mode import (
    FAST_COMPILE,
    FAST_RUN,
    OPT_FAST_COMPILE,
    OPT_FAST_COMPILE_GPU,
    OPT_FAST_RUN,
    OPT_FAST_RUN_STABLE,
    OPT_MERGE,
    OPT_NONE,
    OPT_O2,
    OPT_O3,
    OPT_STABILIZE,
    OPT_UNSAFE,
    AddDestroyHandler,
    AddFeatureOptimizer,
    AddNoOutputFromInplace,
    Mode,
    PrintCurrentFunctionGraph,
    get_default_mode,
    get_mode,
    local_useless,
    optdb,
    predefined_linkers,
    predefined_modes,
    predefined_optimizers,
    register_linker,
    register_mode,
    register_optimizer,
    register_OutputGuard_c_code,
)
from theano.compile.mode import modes_by_need as _modes_by_need
from theano.compile.ops import (
    DeepCopyOp,
    FromFunctionOp,
    OutputGuard,
    Rebroadcast,
    Shape,
    Shape_i,
    SpecifyShape,
    ViewOp,
    as_op,
    deep_copy_op,
    register_deep_copy_op_c_code,
    register_rebroadcast_c_code,
    register_shape_c_code,
    register_shape_i_c_code,
    register_specify_shape_c_code,
    register_view_op_c_code,
    shape,
    shape_i,
    shape_i_op,
    specify_shape,
    view_op,
)
from theano.compile.pfunc import Param, pfunc, rebuild_collect_shared
from theano.compile.profiling import ProfileStats, ScanProfileStats
from theano.compile.sharedvalue import SharedVariable, shared, shared_constructor
from theano.configdefaults import config as _config

# Last: it gives the package the attribute `function`, in place of the module.
from theano.compile.function import function, function_dump  # isort: skip

__getattr__, __dir__ = _aliases.lazy(__name__)

_modes_by_need["DEBUGMODE"] = _modes_by_need["DEBUG_MODE"] = lambda: __getattr__("DebugMode")(optimizer=_config.optimizer)
_modes_by_need["NANGUARDMODE"] = lambda: __getattr__("NanGuardMode")(True, True, True, optimizer=_config.optimizer)

__all__ = [name for name in __dir__() if not name.startswith("_")]
