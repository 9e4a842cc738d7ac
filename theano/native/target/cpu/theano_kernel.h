/* Everything that C text of scalar ops may use. The printer includes only the parts that a kernel needs. */
#pragma once
#include "include/tk_core.h"
#include "include/tk_exp.h"
#include "include/tk_log.h"
#include "include/tk_pow.h"
#include "include/tk_ipow.h"
#include "include/tk_hyper.h"
#include "include/tk_compound.h"
#include "include/tk_trig.h"
#include "include/tk_atrig.h"
#include "include/tk_erf.h"
#include "include/tk_gamma.h"
#include "include/tk_complex.h"
