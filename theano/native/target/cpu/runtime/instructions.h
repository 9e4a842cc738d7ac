/* What the compiler makes of the table of instructions. */
#pragma once

#include "cells.h"

/* The enumerations of params. */
#define CHOICES(type) enum {
#define CHOICE(type, member) THN_##type##_##member,
#define CHOICES_END(type) THN_##type##_COUNT };
#include "instructions.def"

enum {
#define INSTRUCTION(name, ...) THN_OP_##name,
#include "instructions.def"
    THN_N_OPS
};

enum {
#define INSTRUCTION(name, memory, reads, replay, flags, ...) THN_FLAGS_##name = (flags),
#include "instructions.def"
};

typedef struct ThnInts {
    int n;
    int at[THN_MAXDIM];
} ThnInts;

/* Whether each is greater than the one before. */
static inline int thn_increase(const ThnInts *all)
{
    int k = 1;
    while (k < all->n && all->at[k] > all->at[k - 1]) {
        k++;
    }
    return k >= all->n;
}

#define THN_NO_AXIS INT32_MIN

/* The parsed params of each: thn_solve_params and so on. Objects are borrowed: the instruction keeps its params. */
struct ThnKernel;
struct ThnIndex;
#define FIELD(kind, type, name, choices, count) type name;
#define INSTRUCTION(name, memory, reads, replay, flags, operands, fields, text) typedef struct { fields } thn_##name##_params;
#include "instructions.def"

#define INSTRUCTION(name, ...) extern const ThnOpDef thn_op_##name;
#include "instructions.def"

/* The code of an instruction, in the file that implements it. `check` and `execute` may be NULL. */
#define THN_INSTRUCTION(name, check, prepare, execute) \
    THN_INSTRUCTION_WITH(name, thn_##name##_params, check, NULL, prepare, execute)
/* The same with a struct of its own as `data`, which begins with the params and which `clear` may empty. */
#define THN_INSTRUCTION_WITH(name, data, check, clear, prepare, execute) \
    const ThnOpDef thn_op_##name = {THN_OP_##name, THN_FLAGS_##name, sizeof(data), check, clear, prepare, execute};

enum { THN_MEMORY_FRESH, THN_MEMORY_SAME, THN_MEMORY_VIEW, THN_MEMORY_INPLACE, THN_MEMORY_KERNEL, THN_MEMORY_ANY };
enum { THN_REPLAY_FULL, THN_REPLAY_KERNEL, THN_REPLAY_PRODUCT, THN_REPLAY_VIEW, THN_REPLAY_COPY, THN_REPLAY_EMPTY, THN_REPLAY_NOTHING };

typedef struct ThnField {
    const char *name;
    int kind;
    const char *choices;      /* name of the enumeration, or NULL */
    int count;                /* of its members */
    size_t at;                /* in the struct of params */
} ThnField;

typedef struct ThnRow {
    const ThnOpDef *def;
    const char *name, *operands, *text;
    const ThnField *fields;   /* ends with a NULL name */
    int memory, reads, replay;
} ThnRow;

/* By THN_OP_...; filled by thn_instructions_init. */
extern ThnRow thn_rows[THN_N_OPS];

static inline const char *thn_name_of(const ThnInstr *ins)
{
    return thn_rows[ins->def->code].name;
}

/* The instruction of this name, or NULL. */
const ThnOpDef *thn_find_op(const char *name);
/* Gives the instruction its data: the parsed params, then what `check` makes of them. -1 + Python error. */
int thn_parse_params(struct ThnProgram *p, ThnInstr *ins, PyObject *params);
/* A tuple of ints, all in lowest .. highest: 1; 0: it is something else; -1: Python error. */
int thn_parse_tuple(PyObject *v, ThnInts *to, long lowest, long highest);
/* For a `check`: 0 if `ok`; else the ValueError that operands or params do not fit, with the text of the row, and -1. */
int thn_fits(const ThnInstr *ins, int ok);
/* Frees the data. */
void thn_free_params(ThnInstr *ins);
int thn_instructions_init(PyObject *module);
